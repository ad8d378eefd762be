//! The scripted model.

use jackline_model::Content;
use jackline_runtime::llm::{FinishReason, ModelFaultKind, ReplyBuilder, ScriptedModel, Turn};

use crate::support::{Heard, ask, call, deaf};

#[tokio::test]
async fn turns_come_in_order_and_requests_are_recorded() {
    let reply = ReplyBuilder::default().reasoning("hm").text("Hi").build();
    let model = ScriptedModel::new([Turn::call("clock____now", "{}"), Turn::Reply(reply)]);
    let first = ask(&model, &mut deaf()).await.unwrap();
    assert_eq!((first.calls, first.finish), (vec![call("", "clock____now", "{}")], FinishReason::ToolCalls));
    let mut heard = Heard::default();
    assert_eq!(ask(&model, &mut heard).await.unwrap().content, Content::from("Hi"));
    assert_eq!((heard.text.as_str(), heard.reasoning.as_str()), ("Hi", "hm"));
    assert_eq!((model.requests().len(), model.turns_left()), (2, 0));
    assert_eq!(model.requests()[1].messages.len(), 1);
}

#[tokio::test]
async fn end_of_the_script_is_a_loud_fault() {
    let model = ScriptedModel::new([]);
    let fault = ask(&model, &mut deaf()).await.unwrap_err();
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Permanent, "script_exhausted"));
    assert_eq!(fault.fault.message, "request 1 is past the end of the script");
}

#[tokio::test]
async fn hang_never_answers_and_can_be_dropped() {
    let model = ScriptedModel::new([Turn::Hang]);
    let mut heard = deaf();
    tokio::select! {
        biased;
        result = ask(&model, &mut heard) => panic!("answered: {result:?}"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(model.turns_left(), 0);
}
