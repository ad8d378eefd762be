//! Rows of the theme ARGS.

use jackline_hooks::HookKind;
use jackline_model::{SideEffect, ToolKey, ToolRunResult};
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn c001_empty_arguments_run_the_tool_once_with_an_empty_object() {
    let ended = World::of(&["C001.sse"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.seen.runs("clock/now"), [json!({})]);
    let before = ended.seen.events(HookKind::BeforeToolCall);
    assert_eq!((before.len(), &before[0]["args"]), (1, &json!({})));
    assert_eq!(arguments(&ended.messages(1, "assistant")[0], 0), json!({}));
    assert!(ended.seen.events(HookKind::OnToolCallError).is_empty());
}

#[tokio::test]
async fn c003_prose_behind_the_arguments_is_not_replayed() {
    let ended = World::of(&["C003.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.seen.runs("notes/add"), [json!({"text": "milk"})]);
    assert_eq!(arguments(&ended.messages(1, "assistant")[0], 0), json!({"text": "milk"}));
}

#[tokio::test]
async fn c004_arguments_in_one_more_layer_of_text_are_taken_out() {
    let ended = World::of(&["C004.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.seen.runs("notes/add"), [json!({"text": "milk"})]);
    assert_eq!(ended.seen.runs("notes/add_many"), [json!({"items": ["a", "b"], "raw": "[1,2]"})]);
    let before = ended.seen.events(HookKind::BeforeToolCall);
    let args: Vec<&Value> = before.iter().map(|payload| &payload["args"]).collect();
    assert_eq!(args, [&json!({"text": "milk"}), &json!({"items": ["a", "b"], "raw": "[1,2]"})]);
}

#[tokio::test]
async fn c005_broken_arguments_are_explained_to_the_model() {
    let ended = World::of(&["C005.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.seen.runs_of_all(), ended.requests.len()), (0, 2));
    let answers = ended.messages(1, "tool");
    assert_eq!((answers.len(), answers[0]["tool_call_id"].as_str()), (1, Some("call_a5")));
    assert!(ended.results(1)[0].contains("JSON"), "{answers:?}");
}

#[tokio::test]
async fn c008_numbers_that_json_does_not_know_are_refused_and_never_stored() {
    let ended = World::of(&["C008.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.seen.runs_of_all(), 0);
    assert!(ended.results(1)[0].contains("JSON"), "{:?}", ended.results(1));

    // The other way round: a tool whose result holds such a number.
    let world = World::of(&["C001.sse"]).await;
    let runtime = jackline_runtime::drive::Runtime::builder();
    let mut spec = jackline_tools::ToolSpec::new(ToolKey::new("clock", "now"), "Tells the time.");
    spec.side_effect = SideEffect::Pure;
    let mean = jackline_runtime::drive::FnTool::new(spec, |_: serde_json::Map<String, Value>, _| {
        let mut result = ToolRunResult::ok(json!({"mean": f64::NAN}).to_string());
        result.state = Some(serde_json::Map::from_iter([("mean".to_owned(), json!(f64::NAN))]));
        std::future::ready(Ok::<_, jackline_tools::ToolError>(result))
    });
    let model = jackline_runtime::llm::OpenAiModel::builder().base_url(&world.server.url).build().unwrap();
    let runtime = runtime.model(model).tool(mean).build().unwrap();
    let report = world.start(&runtime).wait().await.unwrap();
    assert_eq!(world.requests()[1]["messages"][3]["content"], "{\"mean\":null}");
    let messages = runtime.store().messages(&report.operation).unwrap();
    let stored = serde_json::to_string(&messages[3].message).unwrap();
    assert!(serde_json::from_str::<Value>(&stored).is_ok() && stored.contains("null"), "{stored}");
}

#[tokio::test]
async fn c011_unknown_escapes_are_answered_and_not_sent_again() {
    let ended = World::of(&["C011.json", "C011.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.seen.runs_of_all(), ended.requests.len()), (0, 3));
    assert!(ended.results(2).iter().all(|text| text.contains("JSON")), "{:?}", ended.results(2));
}

#[tokio::test]
async fn c012_arguments_that_are_no_object_are_answered_each() {
    let ended = World::of(&["C012.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.seen.runs("clock/now"), ended.seen.runs_of_all()), (vec![json!({})], 1));
    let results = ended.results(1);
    assert_eq!(results.len(), 3);
    assert!(results[1..].iter().all(|text| text.contains("object")), "{results:?}");
}

/// The arguments of a call of a message, read as a provider reads them.
fn arguments(message: &Value, call: usize) -> Value {
    serde_json::from_str(message["tool_calls"][call]["function"]["arguments"].as_str().unwrap()).unwrap()
}
