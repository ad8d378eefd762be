//! The tools that an agent may use, by key and by wire name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jackline_model::ToolKey;
use serde_json::Value;

use crate::schema::for_wire;
use crate::{ArgumentProblem, ArgumentSchema, Arguments, SchemaProblem, Tool, ToolSpec, Unresolved, WireNames};

/// A set of tools whose keys differ and whose schemas compile. Always in the order of the keys, so
/// that two processes offer a model the same list.
#[derive(Clone, Default)]
pub struct Registry {
    entries: BTreeMap<ToolKey, RegisteredTool>,
    names: WireNames,
}

/// One registered tool, with what was worked out when it was registered.
#[derive(Clone)]
pub struct RegisteredTool {
    tool: Arc<dyn Tool>,
    schema: Arc<ArgumentSchema>,
}

/// Why a tool cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two tools have the same key.
    #[error("two tools are called `{0}`; rename or remove one")]
    Duplicate(ToolKey),
    /// The schema of the arguments cannot be compiled.
    #[error("the parameters of `{key}` are no usable JSON Schema: {problem}")]
    Schema {
        /// The tool.
        key: ToolKey,
        /// What is wrong.
        problem: SchemaProblem,
    },
}

/// Collects tools for a [`Registry`].
#[derive(Default)]
pub struct RegistryBuilder {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// Starts an empty set.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// The tool with a key.
    pub fn get(&self, key: &ToolKey) -> Option<&RegisteredTool> {
        self.entries.get(key)
    }

    /// The tool that a model means by a name; see [`WireNames::resolve`].
    ///
    /// # Errors
    ///
    /// [`Unresolved`] with the names there are: answer the call with them.
    pub fn resolve(&self, name: &str) -> Result<&ToolKey, Unresolved> {
        self.names.resolve(name)
    }

    /// The name under which a tool is offered to a model.
    pub fn wire_name(&self, key: &ToolKey) -> Option<&str> {
        self.names.name(key)
    }

    /// All tools, in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ToolKey, &RegisteredTool)> {
        self.entries.iter()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl RegistryBuilder {
    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds several tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Checks and names all that was added. The order in which it was added does not matter.
    ///
    /// # Errors
    ///
    /// - [`RegistryError::Duplicate`]: rename or remove one of the two.
    /// - [`RegistryError::Schema`]: mend the schema of the tool.
    pub fn build(self) -> Result<Registry, RegistryError> {
        let mut entries = BTreeMap::new();
        for tool in self.tools {
            let key = tool.spec().key.clone();
            let schema = ArgumentSchema::compile(&tool.spec().parameters)
                .map_err(|problem| RegistryError::Schema { key: key.clone(), problem })?;
            let entry = RegisteredTool { tool, schema: Arc::new(schema) };
            if entries.insert(key.clone(), entry).is_some() {
                return Err(RegistryError::Duplicate(key));
            }
        }
        let names = WireNames::new(entries.keys().cloned());
        Ok(Registry { entries, names })
    }
}

impl RegisteredTool {
    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// What it declares.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Its schema in the form that providers take.
    pub fn wire_schema(&self) -> Value {
        for_wire(&self.spec().parameters)
    }

    /// Reads and checks the text of a call's arguments: [`parse`](crate::arguments::parse), then
    /// [`ArgumentSchema::check`].
    ///
    /// # Errors
    ///
    /// [`ArgumentProblem`]: answer the call with its text and do not run the tool.
    pub fn arguments(&self, raw: &str) -> Result<Arguments, ArgumentProblem> {
        let Arguments { object, repair } = crate::arguments::parse(raw)?;
        Ok(Arguments { object: self.schema.check(object)?, repair })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.spec().key)).finish()
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredTool").field(&self.spec().key).finish()
    }
}

#[cfg(test)]
mod tests;
