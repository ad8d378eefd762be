//! Rows of the theme ARGS.

use std::sync::Arc;

use jackline_hooks::HookKind;
use jackline_model::Reason;
use jackline_runtime::drive::Runtime;
use jackline_runtime::journal::Store as _;
use jackline_runtime::llm::OpenAiModel;
use jackline_store_sqlite::{OpenOptions, SqliteStore};
use jackline_tools::builtin::{CommandTool, CommandToolSpec};
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

    // The other way round: a program prints such a number as its result.
    let place = tempfile::tempdir().unwrap();
    let script = r#"cat > /dev/null; printf '{"mean": NaN}'"#;
    let spec = json!({
        "name": "clock/now", "description": "Tells the time.", "command": ["sh", "-c", script], "side_effect": "pure",
    });
    let spec: CommandToolSpec = serde_json::from_value(spec).unwrap();
    let path = place.path().join("run.db");
    let store = Arc::new(SqliteStore::open(&path, &OpenOptions::default()).unwrap());
    let world = World::of(&["C001.sse"]).await;
    let runtime = Runtime::builder()
        .model(OpenAiModel::builder().base_url(&world.server.url).build().unwrap())
        .tool(CommandTool::new(spec, place.path()).unwrap())
        .store(store)
        .build()
        .unwrap();
    let report = world.start(&runtime).wait().await.unwrap();
    assert_eq!(report.reason, Some(Reason::Done));
    let results = world.requests()[1]["messages"].as_array().unwrap()[3]["content"].clone();
    assert!(results.as_str().unwrap().contains("NaN"), "the model reads what was printed, as text: {results}");
    drop(runtime);
    // Whatever is read back is strict JSON.
    let store = SqliteStore::open(&path, &OpenOptions::default()).unwrap();
    let records = store.records(&report.operation).unwrap();
    assert!(!records.is_empty() && records.iter().all(|record| serde_json::from_str::<Value>(record).is_ok()));
    assert_eq!(store.messages(&report.operation).unwrap().len(), 5);
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
