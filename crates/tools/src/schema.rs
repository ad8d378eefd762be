//! The schema of a tool's arguments: compiled once to check calls, and put in the form that
//! providers take.
//!
//! Nothing is fetched: a schema that refers to an address is refused when the tool is registered.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use crate::arguments::ArgumentProblem;
use crate::limits;
use crate::text::prefix;

/// A compiled schema.
pub struct ArgumentSchema {
    validator: Validator,
}

/// A schema that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaProblem(String);

impl ArgumentSchema {
    /// Compiles a schema. Do it once for a tool and keep the result: it costs more than many checks.
    ///
    /// # Errors
    ///
    /// [`SchemaProblem`] if it is no JSON Schema or refers to one elsewhere: mend the schema.
    pub fn compile(schema: &Value) -> Result<Self, SchemaProblem> {
        let validator =
            jsonschema::validator_for(&for_wire(schema)).map_err(|error| SchemaProblem(error.to_string()))?;
        Ok(Self { validator })
    }

    /// Checks arguments and gives them back for the tool.
    ///
    /// Where the schema wants a list or an object and finds a string that holds one, the content
    /// takes its place: models encode twice. A string where a string is wanted is never touched.
    ///
    /// # Errors
    ///
    /// [`ArgumentProblem::Mismatch`] lists what is wrong where, in words for the model: answer the
    /// call with it.
    ///
    /// ```
    /// use jackline_tools::ArgumentSchema;
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    /// let schema = ArgumentSchema::compile(&schema).unwrap();
    /// assert!(schema.check(json!({"n": 7}).as_object().unwrap().clone()).is_ok());
    ///
    /// let problem = schema.check(json!({"n": "seven"}).as_object().unwrap().clone()).unwrap_err();
    /// assert!(problem.to_string().contains("`n`"));
    /// ```
    pub fn check(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ArgumentProblem> {
        let mut value = Value::Object(arguments);
        for (pointer, decoded) in self.encoded_twice(&value) {
            if let Some(place) = value.pointer_mut(&pointer) {
                *place = decoded;
            }
        }
        let mut errors = self.validator.iter_errors(&value);
        let problems: Vec<_> = errors.by_ref().take(limits::ARGUMENT_PROBLEMS_SHOWN_MAX).map(|e| worded(&e)).collect();
        if !problems.is_empty() {
            return Err(ArgumentProblem::Mismatch { problems, more: errors.next().is_some() });
        }
        drop(errors);
        match value {
            Value::Object(object) => Ok(object),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(ArgumentProblem::NotAnObject("no object"))
            }
        }
    }

    /// The strings that stand where the schema wants something else and hold a list or an object.
    fn encoded_twice(&self, value: &Value) -> Vec<(String, Value)> {
        self.validator
            .iter_errors(value)
            .take(limits::ARGUMENT_DECODINGS_MAX)
            .filter(|error| is_about_the_type(error.kind()))
            .filter_map(|error| {
                let text = error.instance().as_str()?;
                let decoded: Value = serde_json::from_str(text).ok()?;
                (decoded.is_array() || decoded.is_object()).then(|| (error.instance_path().to_string(), decoded))
            })
            .collect()
    }
}

impl fmt::Debug for ArgumentSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentSchema").finish_non_exhaustive()
    }
}

/// The schema in the form that providers take: an object with `properties`, without an empty
/// `required`. A schema that has all this comes back equal; the original is never altered.
///
/// ```
/// use jackline_tools::schema::for_wire;
/// use serde_json::json;
/// assert_eq!(for_wire(&json!({})), json!({"type": "object", "properties": {}}));
/// ```
pub fn for_wire(schema: &Value) -> Value {
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.entry("type").or_insert_with(|| Value::from("object"));
    object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if object.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        object.remove("required");
    }
    Value::Object(object)
}

fn is_about_the_type(kind: &ValidationErrorKind) -> bool {
    matches!(
        kind,
        ValidationErrorKind::Type { .. }
            | ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. }
    )
}

/// What is wrong where; the value itself stays out, it may be long.
fn worded(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = path.trim_start_matches('/').replace('/', ".");
    let what = error.masked_with("the value").to_string();
    let what = prefix(&what, limits::ARGUMENT_PROBLEM_BYTES_MAX);
    let found = if is_about_the_type(error.kind()) { found(error.instance()) } else { "" };
    if place.is_empty() { format!("{what}{found}") } else { format!("`{place}`: {what}{found}") }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => " (it is null)",
        Value::Bool(_) => " (it is a boolean)",
        Value::Number(_) => " (it is a number)",
        Value::String(_) => " (it is a string)",
        Value::Array(_) => " (it is a list)",
        Value::Object(_) => " (it is an object)",
    }
}

#[cfg(test)]
mod tests;
