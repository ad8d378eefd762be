//! What the fuzzer runs, and the gate over the stored corpora: a function for each target.
//!
//! A target takes any bytes. It panics if something about them is wrong that should not be; what the bytes mean is
//! its own affair. `cargo fuzz run reply` looks for such bytes; those that were found stay in `fuzz/corpus`.

#[path = "../../../crates/hooks/src/matcher/oracle.rs"]
mod matching;
#[path = "../../../crates/hooks/src/reply/tests/oracle.rs"]
mod oracle;
mod payload;

use jackline_hooks::{
    CommandReply, ControlReply, FaultCode, HookKind, Matcher, MatcherError, parse_command_reply, parse_reply,
};
use jackline_runtime::agent::AgentFile;
use jackline_runtime::journal::{decode, encode};

pub use payload::payload;

/// A target: it panics if the bytes lead to something that is wrong.
pub type Target = fn(&[u8]);

/// All targets, each with the name of its corpus.
pub const TARGETS: [(&str, Target); 5] =
    [("agent_file", agent_file), ("matcher", matcher), ("payload", payload), ("records", records), ("reply", reply)];

/// The reply of a control is classified as a reader says that was written from the contract alone.
pub fn reply(body: &[u8]) {
    for status in [200, 204, 500] {
        assert_eq!(parse_reply(status, body), oracle::classify(status, body), "{status}");
    }
    // A command may also mock; what else it answers means what it means from a webhook.
    match (parse_command_reply(HookKind::BeforeToolCall, body), parse_reply(200, body)) {
        (Ok(CommandReply::Mock(_)) | Err(_), _) => {}
        (Ok(CommandReply::Control(told)), asked) => assert_eq!(Ok(told), asked),
    }
}

/// A pattern, a line end and the name of a tool: a matcher does what a bare regular expression does, and never hangs.
pub fn matcher(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (pattern, name) = text.split_once('\n').unwrap_or((&text, ""));
    let (identifier, api_name) = name.split_once('/').unwrap_or(("", name));
    matching::agrees(pattern, identifier, api_name);
}

/// An agent file is read or refused with a place; what was read has one canonical form.
pub fn agent_file(bytes: &[u8]) {
    match AgentFile::parse_bytes(bytes, "agent.toml") {
        Ok(config) => {
            let text = config.canonical_json();
            let value: serde_json::Value = serde_json::from_str(&text).expect("the canonical form is JSON");
            assert_eq!(value.to_string().len(), text.len(), "it has no blanks");
        }
        Err(error) => assert!(error.to_string().starts_with("agent.toml"), "the file is named: {error}"),
    }
}

/// A record is read, and then written as it was meant, or refused.
pub fn records(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(batch) = decode(text) {
        assert_eq!(decode(&encode(&batch)), Ok(batch));
    }
}
