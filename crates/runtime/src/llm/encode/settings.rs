//! How one provider wants to be spoken to.

use std::fmt;
use std::sync::Arc;

use jackline_model::ToolKey;
use jackline_tools::WireNames;

use crate::llm::dialect::{
    Dialect, EmptyContent, MessageOrder, OutputLimitField, ReasoningReplay, SchemaDialect, ToolCallIds,
};

/// Makes the name on the wire of a tool.
pub type WireName = Arc<dyn Fn(&ToolKey) -> String + Send + Sync>;

/// How one provider wants its messages. The defaults follow the published API.
#[derive(Clone)]
pub struct WireSettings {
    /// The content of an assistant message that holds only calls.
    pub empty_content: EmptyContent,
    /// Whether the model's earlier thoughts are sent back.
    pub reasoning: ReasoningReplay,
    /// Which ids of calls the provider accepts.
    pub tool_call_ids: ToolCallIds,
    /// Which order of messages the provider accepts.
    pub order: MessageOrder,
    /// Which JSON Schemas the provider accepts.
    pub schemas: SchemaDialect,
    /// The field that bounds the answer.
    pub output_limit: OutputLimitField,
    /// The name on the wire of a tool; `identifier____apiName` unless set.
    pub wire_name: WireName,
}

impl Default for WireSettings {
    fn default() -> Self {
        Self {
            empty_content: EmptyContent::default(),
            reasoning: ReasoningReplay::default(),
            tool_call_ids: ToolCallIds::default(),
            order: MessageOrder::default(),
            schemas: SchemaDialect::default(),
            output_limit: OutputLimitField::default(),
            wire_name: Arc::new(default_wire_name),
        }
    }
}

impl From<Dialect> for WireSettings {
    fn from(dialect: Dialect) -> Self {
        let Dialect { empty_content, reasoning, tool_call_ids, order, schemas, output_limit } = dialect;
        Self { empty_content, reasoning, tool_call_ids, order, schemas, output_limit, ..Self::default() }
    }
}

impl fmt::Debug for WireSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireSettings")
            .field("empty_content", &self.empty_content)
            .field("reasoning", &self.reasoning)
            .field("tool_call_ids", &self.tool_call_ids)
            .field("order", &self.order)
            .field("schemas", &self.schemas)
            .field("output_limit", &self.output_limit)
            .finish_non_exhaustive()
    }
}

/// `identifier____apiName`, with what the API does not accept in names replaced.
fn default_wire_name(key: &ToolKey) -> String {
    WireNames::new([key.clone()]).name(key).unwrap_or_default().to_owned()
}
