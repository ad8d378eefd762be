//! How providers differ in what they accept: plain settings, as an agent file holds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The dialect of one provider. The defaults follow the published API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dialect {
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
}

/// The content of an assistant message that holds only calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `null`, as the API has it.
    #[default]
    Null,
    /// `""`, for servers that refuse null.
    EmptyText,
}

/// Whether the model's earlier thoughts are sent back as `reasoning_content`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// No: most servers ignore the field, some refuse it.
    #[default]
    Omit,
    /// Yes, word for word: some thinking models refuse the turn after a call without it.
    Replay,
}

/// Which ids of calls the provider accepts. Ids that fit are sent unchanged; any other becomes a
/// short one that depends on the id alone, so that a call and its result stay a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallIds {
    /// All.
    #[default]
    Any,
    /// At most 40 characters.
    #[serde(rename = "max40")]
    Max40,
    /// Exactly nine letters or digits.
    #[serde(rename = "alnum9")]
    Alnum9,
}

/// Which order of messages the provider accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageOrder {
    /// Any that is legal by the API.
    #[default]
    Api,
    /// A user message may not follow a tool message: an assistant message is put between the two.
    AssistantAfterTool,
}

/// Which JSON Schemas the provider accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaDialect {
    /// All: schemas are sent as they are.
    #[default]
    Any,
    /// No lists in `type`: each becomes an `anyOf`.
    NoTypeLists,
}

/// The field that bounds the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitField {
    /// `max_tokens`, which nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer models of the API demand.
    MaxCompletionTokens,
}
