//! Rows of the theme COMPAT, and what a provider wants of its history.

use jackline_hooks::HookKind;
use jackline_runtime::llm::{OpenAiModelBuilder, ReasoningReplay, WireSettings};
use jackline_runtime::machine::limits;
use serde_json::json;

use crate::world::{Ended, World};

/// A run of one answer in words.
async fn answered(case: &str) -> Ended {
    let ended = World::of(&[case]).await.run().await;
    ended.assert_done("hi");
    assert_eq!(ended.requests.len(), 1, "{case}");
    ended
}

#[tokio::test]
async fn c045_an_unknown_service_tier_is_no_matter() {
    answered("C045.json").await;
    answered("C045.sse").await;
}

#[tokio::test]
async fn c046_a_refusal_with_a_number_as_code_is_told_with_status_and_words() {
    let ended = World::of(&["C046.http"]).await.run().await;
    let message = ended.assert_failed();
    assert!(message.contains("400") && message.contains("model not found: foo"), "{message}");
    assert_eq!((ended.requests.len(), ended.waits().len()), (1, 0), "it is not tried again");
}

#[tokio::test]
async fn c048_partial_usage_keeps_what_is_known() {
    for (case, input, output, total) in
        [("C048.a.json", 0, 0, 0), ("C048.b.json", 0, 12, 12), ("C048.c.json", 20, 6, 26), ("C048.d.json", 0, 0, 0)]
    {
        let ended = answered(case).await;
        let after = ended.seen.events(HookKind::AfterStep);
        let step = after.iter().find(|payload| payload["content"] == "hi").expect("the step that answered");
        assert_eq!(step["totalInputTokens"], json!(input), "{case}");
        assert_eq!(step["totalOutputTokens"], json!(output), "{case}");
        assert_eq!(step["totalTokens"], json!(total), "{case}");
    }
}

#[tokio::test]
async fn c050_extra_members_leave_the_text_and_the_thoughts() {
    let ended = answered("C050.json").await;
    let after = ended.seen.events(HookKind::AfterStep);
    assert!(after.iter().any(|payload| payload["reasoning"] == "thinking..."), "{after:?}");
}

#[tokio::test]
async fn c052_other_forms_of_numbers_are_read_exactly() {
    assert_eq!(answered("C052.a.json").await.report.totals.total_tokens, 5_000_000_000);
    answered("C052.b.json").await;
}

#[tokio::test]
async fn c053_a_good_status_without_an_answer_is_an_error() {
    for (case, words) in [("C053.a.json", "the answer is empty"), ("C053.b.json", "no provider available")] {
        let ended = World::of(&[case; limits::MODEL_ATTEMPTS_MAX as usize]).await.run().await;
        let message = ended.assert_failed();
        assert!(message.contains(words), "{case}: {message}");
        assert_eq!(ended.requests.len(), usize::from(limits::MODEL_ATTEMPTS_MAX), "{case}");
        assert_eq!(ended.seen.events(HookKind::OnError)[0]["errorAttribution"], "provider", "{case}");
    }
}

#[tokio::test]
async fn c055_thoughts_are_replayed_word_for_word_or_left_out() {
    let replaying = |client: OpenAiModelBuilder| {
        client.wire(WireSettings { reasoning: ReasoningReplay::Replay, ..WireSettings::default() })
    };
    let ended = World::of(&["C055.sse"]).await.client(replaying).run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.messages(1, "assistant")[0]["reasoning_content"], "user wants milk noted");
    let ended = World::of(&["C055.sse"]).await.run().await;
    assert_eq!(ended.messages(1, "assistant")[0].get("reasoning_content"), None);
}

#[tokio::test]
async fn c146_an_unknown_tool_is_answered_with_those_that_exist() {
    let ended = World::of(&["C146.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.seen.runs_of_all(), ended.requests.len()), (0, 2));
    assert!(ended.results(1)[0].contains("files____read"), "{:?}", ended.results(1));
    assert!(ended.seen.events(HookKind::AfterToolCall).is_empty());
}
