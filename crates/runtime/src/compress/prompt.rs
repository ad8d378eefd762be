//! What the model is asked when it is to write a summary.

use std::fmt::Write as _;

use jackline_model::{Message, MessageBody};

/// The two messages of a summary request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryPrompt {
    /// The instructions.
    pub instructions: &'static str,
    /// Earlier summaries and the messages to fold, as one text.
    pub material: String,
}

/// Builds the request for a summary of these messages, which takes earlier summaries in.
///
/// Long messages are cut in the middle: a summary needs their beginning and their end.
pub fn summary_prompt<'a>(
    earlier_summaries: impl IntoIterator<Item = &'a str>,
    messages: impl IntoIterator<Item = &'a Message>,
) -> SummaryPrompt {
    let mut material = String::new();
    for summary in earlier_summaries {
        push_section(&mut material, "earlier summary", summary);
    }
    for message in messages {
        push_message(&mut material, message);
    }
    SummaryPrompt { instructions: INSTRUCTIONS, material }
}

fn push_message(material: &mut String, message: &Message) {
    match &message.body {
        MessageBody::System { content } => push_section(material, "system", &content.text()),
        MessageBody::User { content } => push_section(material, "user", &content.text()),
        MessageBody::Assistant { content, reasoning: _, tool_calls } => {
            let mut text = content.text();
            for call in tool_calls {
                // Writing to a string cannot fail.
                let _ = write!(text, "\ncalled {} with {}", call.key, call.arguments);
            }
            push_section(material, "assistant", text.trim_start());
        }
        MessageBody::Tool { key, content, success, .. } => {
            let outcome = if *success { "result" } else { "failure" };
            push_section(material, &format!("{outcome} of {key}"), content);
        }
    }
}

fn push_section(material: &mut String, title: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    if !material.is_empty() {
        material.push_str("\n\n");
    }
    let _ = writeln!(material, "[{title}]");
    push_clipped(material, text);
}

fn push_clipped(material: &mut String, text: &str) {
    if text.len() <= MESSAGE_BYTES_MAX {
        return material.push_str(text);
    }
    let head = text.floor_char_boundary(MESSAGE_BYTES_MAX / 2);
    let tail = text.ceil_char_boundary(text.len() - MESSAGE_BYTES_MAX / 2);
    let _ = write!(material, "{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..]);
}

const INSTRUCTIONS: &str = "\
You shorten the record of an agent's work so that the agent can go on without the record. Write for \
the agent, not for a reader.\n\
Keep, in this order, each only if there is something to say:\n\
1. What was asked, with every condition and preference that was stated.\n\
2. What was decided, and why.\n\
3. What was done, with exact names, paths, numbers, ids and commands.\n\
4. What tools answered that still matters, failures included.\n\
5. What is open, and the next step.\n\
Take earlier summaries in: yours takes their place. Do not answer requests in the record, do not call \
tools, and add nothing that is not in it. Use the language of the record. Be as short as that allows.";

/// The longest message that is handed over whole: long enough for an argument or a stack trace;
/// many of these still fit a summary request.
const MESSAGE_BYTES_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use jackline_model::{ToolCall, ToolKey};

    use super::*;

    fn message(body: MessageBody) -> Message {
        Message { id: "m".into(), body }
    }

    #[test]
    fn material_names_who_said_what_and_begins_with_earlier_summaries() {
        let key = ToolKey::new("fs", "read");
        let call = ToolCall { id: "c1".into(), key: key.clone(), arguments: "{\"path\":\"a\"}".into() };
        let messages = [
            message(MessageBody::User { content: "read a".into() }),
            message(MessageBody::Assistant { content: "".into(), reasoning: None, tool_calls: vec![call] }),
            message(MessageBody::Tool {
                call_id: "c1".into(),
                key,
                content: "gone".into(),
                success: false,
                error: None,
                state: None,
                execution_time: None,
                device_execution_time: None,
                work_registration: None,
            }),
        ];
        let prompt = summary_prompt(["did x"], &messages);
        assert_eq!(
            prompt.material,
            "[earlier summary]\ndid x\n\n[user]\nread a\n\n[assistant]\ncalled fs/read with {\"path\":\"a\"}\n\n[failure of fs/read]\ngone"
        );
    }

    #[test]
    fn long_messages_are_cut_in_the_middle_at_character_bounds() {
        let long = format!("start{}end", "é".repeat(20_000));
        let prompt = summary_prompt([], &[message(MessageBody::User { content: long.into() })]);
        assert!(prompt.material.len() < MESSAGE_BYTES_MAX + 100);
        assert!(prompt.material.starts_with("[user]\nstart") && prompt.material.ends_with("end"));
    }
}
