//! How one provider wants to be spoken to.

use std::fmt;
use std::sync::Arc;

use jackline_model::ToolKey;
use jackline_tools::WireNames;

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

/// The content of an assistant message that holds only calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyContent {
    /// `null`, as the API has it.
    #[default]
    Null,
    /// `""`, for servers that refuse null.
    EmptyText,
}

/// Whether the model's earlier thoughts are sent back as `reasoning_content`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningReplay {
    /// No: most servers ignore the field, some refuse it.
    #[default]
    Omit,
    /// Yes, word for word: some thinking models refuse the turn after a call without it.
    Replay,
}

/// Which ids of calls the provider accepts. Ids that fit are sent unchanged; any other becomes a
/// short one that depends on the id alone, so that a call and its result stay a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolCallIds {
    /// All.
    #[default]
    Any,
    /// At most 40 characters.
    Max40,
    /// Exactly nine letters or digits.
    Alnum9,
}

/// Which order of messages the provider accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageOrder {
    /// Any that is legal by the API.
    #[default]
    Api,
    /// A user message may not follow a tool message: an assistant message is put between the two.
    AssistantAfterTool,
}

/// Which JSON Schemas the provider accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaDialect {
    /// All: schemas are sent as they are.
    #[default]
    Any,
    /// No lists in `type`: each becomes an `anyOf`.
    NoTypeLists,
}

/// The field that bounds the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputLimitField {
    /// `max_tokens`, which nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer models of the API demand.
    MaxCompletionTokens,
}

/// `identifier____apiName`, with what the API does not accept in names replaced.
fn default_wire_name(key: &ToolKey) -> String {
    WireNames::new([key.clone()]).name(key).unwrap_or_default().to_owned()
}
