//! Rows of the theme IDS, and the order of results.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_hooks::HookKind;
use jackline_model::{Reason, Status};
use jackline_runtime::llm::{StreamMode, ToolCallIds, WireSettings};
use jackline_store_sqlite::{OpenOptions, SqliteStore};
use serde_json::{Value, json};

use crate::server::Answer;
use crate::world::{SOON, World};

#[tokio::test]
async fn c013_calls_without_ids_get_ids_of_their_own() {
    let ended = World::of(&["C013.sse"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.seen.runs("clock/now").len(), ended.seen.runs("notes/add").len()), (1, 1));
    let ids = call_ids(&ended.requests[1]);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 2);
    let heard = |kind| ended.seen.events(kind).iter().map(|payload| text(&payload["toolCallId"])).collect::<Vec<_>>();
    assert_eq!(heard(HookKind::BeforeToolCall), ids);
    assert_eq!(heard(HookKind::AfterToolCall), ids);
}

#[tokio::test]
async fn c017_made_ids_are_nine_letters_or_digits_by_switch_and_given_ones_are_echoed() {
    let strict = |client: jackline_runtime::llm::OpenAiModelBuilder| {
        client.wire(WireSettings { tool_call_ids: ToolCallIds::Alnum9, ..WireSettings::default() })
    };
    let ended = World::of(&["C013.sse"]).await.client(strict).run().await;
    ended.assert_done("All done.");
    for id in call_ids(&ended.requests[1]) {
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
    let ended = World::of(&["C019.sse"]).await.run().await;
    assert_eq!(call_ids(&ended.requests[1]), ["call_s1"]);
}

#[tokio::test]
async fn c018_ids_of_another_vendor_are_shortened_when_a_run_goes_on_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    let open = || Arc::new(SqliteStore::open(place.path().join("run.db"), &OpenOptions::default()).unwrap());
    let state: Value = serde_json::from_slice(include_bytes!("../../cases/inputs/C018.state.json")).unwrap();
    let long: Vec<String> = state[1]["tool_calls"].as_array().unwrap().iter().map(|call| text(&call["id"])).collect();

    // The first vendor gives the long ids; the run is stopped while it waits for its next answer.
    let reply = json!({"choices": [{"index": 0, "message": state[1], "finish_reason": "tool_calls"}]});
    let answer = Answer::ok("application/json", reply.to_string().as_bytes());
    let first = World::answering([answer]).await.store(open()).client(|client| client.stream(StreamMode::Never));
    let (operation, report) = {
        let runtime = first.runtime();
        let run = first.start(&runtime);
        let until_stopped = async {
            first.server.answered().await;
            first.server.answered().await;
            run.interrupt().unwrap();
            run.wait().await.unwrap()
        };
        let report = tokio::time::timeout(SOON, first.clock.run(until_stopped)).await.unwrap();
        (report.operation.clone(), report)
    };
    assert_eq!((report.status, report.reason), (Status::Interrupted, Some(Reason::Interrupted)));
    assert_eq!(call_ids(&first.requests()[1]), long);

    // The second takes at most 40 characters.
    let short = WireSettings { tool_call_ids: ToolCallIds::Max40, ..WireSettings::default() };
    let second = World::answering([Answer::case("_final.json")]).await.store(open());
    let second = second.client(|client| client.wire(short).stream(StreamMode::Never));
    let runtime = second.runtime();
    let resumed = runtime.resume(&operation, second.hooks()).unwrap();
    let report = tokio::time::timeout(SOON, second.clock.run(resumed.wait())).await.unwrap().unwrap();
    assert_eq!(report.reason, Some(Reason::Done));
    let ids = call_ids(&second.requests()[0]);
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.len() <= 40), "{ids:?}");
}

#[tokio::test]
async fn c060_results_of_parallel_calls_stand_in_the_order_of_the_calls() {
    let ended = World::of(&["C060.json"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.results(1), ["1", "2", "3"]);
    let indices: Vec<Value> =
        ended.seen.events(HookKind::BeforeToolCall).iter().map(|payload| payload["callIndex"].clone()).collect();
    assert_eq!(indices, [1, 2, 3], "counted from 1, in emission order");
}

/// The ids of the calls of a request, each of which a result answers.
fn call_ids(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    calls.map(|call| text(&call["id"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
