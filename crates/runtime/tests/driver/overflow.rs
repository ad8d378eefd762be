//! Conversations that do not fit.

use std::sync::Arc;

use jackline_hooks::HookKind;
use jackline_model::{Fault, FaultAttribution, Reason};
use jackline_runtime::compress::ThresholdSettings;
use jackline_runtime::drive::Agent;
use jackline_runtime::llm::{ModelFault, ModelFaultKind};
use jackline_runtime::tokens::TokenCounter;

use crate::support::{Heard, Turns, agent, builder, says};

/// A token a word, exactly.
struct Words;

impl TokenCounter for Words {
    fn count_text(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    fn is_exact(&self) -> bool {
        true
    }
}

fn small(instructions: String) -> Agent {
    let compression = ThresholdSettings { window: Some(1_000), ..ThresholdSettings::default() };
    Agent { instructions, compression, ..agent() }
}

#[tokio::test]
async fn c079_instructions_over_the_window_end_the_run_unsent_with_the_sizes() {
    let turns = Turns::new([says("never asked", &[])]);
    let heard = Heard::default();
    let runtime = builder(&turns).token_counter(|_| Arc::new(Words)).build().unwrap();
    let report = runtime.start(&small("word ".repeat(1_200)), "hi", heard.hooks()).unwrap().wait().await.unwrap();

    assert_eq!(report.reason, Some(Reason::ContextOverflow));
    let fault = report.fault.unwrap();
    assert_eq!(fault.code, "context_overflow");
    assert!(fault.message.contains("1209 tokens, 500 fit"), "{}", fault.message);
    assert_eq!(turns.left(), 1, "nothing was sent");
    assert_eq!(heard.of(HookKind::BeforeCompact).len(), 0, "there was nothing to fold");
    assert_eq!(heard.of(HookKind::OnError).len(), 1);
}

#[tokio::test]
async fn a_refused_request_with_nothing_to_fold_ends_with_what_the_provider_said_and_our_count() {
    let fault = Fault {
        code: "context_length_exceeded".to_owned(),
        message: "at most 10 tokens".to_owned(),
        attribution: FaultAttribution::User,
        detail: None,
    };
    let refused =
        ModelFault { kind: ModelFaultKind::ContextOverflow, fault, retry_after: None, partial: String::new() };
    let turns = Turns::failing(refused);
    let heard = Heard::default();
    let runtime = builder(&turns).token_counter(|_| Arc::new(Words)).build().unwrap();
    let report = runtime.start(&small("You test.".to_owned()), "hi", heard.hooks()).unwrap().wait().await.unwrap();

    assert_eq!(report.reason, Some(Reason::ContextOverflow));
    assert_eq!(report.fault.unwrap().message, "at most 10 tokens (about 11 tokens by our count)");
    assert_eq!(heard.of(HookKind::BeforeCompact).len(), 0);
}

#[tokio::test]
async fn c079_a_summary_that_does_not_help_is_paid_for_twice_at_most() {
    let long = "word ".repeat(700);
    // The first answer makes the history too long; each summary is as long as what it stands for.
    let mut turns = vec![says(long.as_str(), &[("test____tell", "{}")])];
    turns.extend((0..20).map(|_| says(long.as_str(), &[("test____tell", "{}")])));
    let turns = Turns::new(turns);
    let heard = Heard::default();
    let tool = crate::support::Fixed::new(jackline_model::ToolRunResult::ok("told"));
    let runtime = builder(&turns).tool(tool).token_counter(|_| Arc::new(Words)).build().unwrap();
    let report = runtime.start(&small("You test.".to_owned()), "hi", heard.hooks()).unwrap().wait().await.unwrap();

    assert_eq!(report.reason, Some(Reason::ContextOverflow));
    let fault = report.fault.unwrap();
    assert!(fault.message.contains("tokens and could not be made shorter"), "{}", fault.message);
    assert_eq!(fault.detail.unwrap()["window"], 1_000);
    assert_eq!(heard.of(HookKind::BeforeCompact).len(), 2);
    assert_eq!(heard.of(HookKind::OnCompactError).len(), 2);
    let steps: Vec<u64> =
        heard.of(HookKind::BeforeCompact).iter().map(|event| event["stepIndex"].as_u64().unwrap()).collect();
    assert!(steps[1] - steps[0] >= 5, "there is a pause between two tries: {steps:?}");
}
