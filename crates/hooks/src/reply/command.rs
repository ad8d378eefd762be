//! What a command printed.

use jackline_model::ToolRunResult;

use super::parse::{decide, read};
use super::{ControlReply, FaultCode};
use crate::HookKind;

/// What a command that is a control answered.
#[derive(Debug, PartialEq)]
pub enum CommandReply {
    /// The same as a webhook may answer.
    Control(ControlReply),
    /// The result to use in place of the tool's.
    Mock(ToolRunResult),
}

/// Reads what a command printed: a decision like that of a webhook, or `{"mock":{…}}` before a tool call.
///
/// A `decision` wins over a `mock` beside it.
///
/// ```
/// use jackline_hooks::{CommandReply, ControlReply, HookKind, parse_command_reply};
/// let mock = br#"{"mock":{"content":"42","success":true}}"#;
/// let reply = parse_command_reply(HookKind::BeforeToolCall, mock).unwrap();
/// assert!(matches!(reply, CommandReply::Mock(result) if result.content == "42"));
/// assert!(parse_command_reply(HookKind::AfterToolCall, mock).is_err());
/// ```
///
/// # Errors
///
/// - [`FaultCode::ResponseTooLarge`]: more than 65536 bytes.
/// - [`FaultCode::InvalidResponse`]: no UTF-8, a decision that does not exist, or a mock that is no result or
///   comes too late.
pub fn parse_command_reply(kind: HookKind, output: &[u8]) -> Result<CommandReply, FaultCode> {
    let Some(members) = read(output)? else {
        return Ok(CommandReply::Control(ControlReply::Notification));
    };
    match (members.decision, members.mock) {
        (Some(decision), _) => decide(decision, members.reason).map(CommandReply::Control),
        (None, None) => Ok(CommandReply::Control(ControlReply::Notification)),
        (None, Some(_)) if kind != HookKind::BeforeToolCall => Err(FaultCode::InvalidResponse),
        (None, Some(mock)) => {
            serde_json::from_str(mock.get()).map(CommandReply::Mock).map_err(|_| FaultCode::InvalidResponse)
        }
    }
}
