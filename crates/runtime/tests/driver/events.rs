//! What the events of steps, tools and ends say.

use jackline_hooks::HookKind;
use jackline_model::{Content, MessageBody, Origin, Part, ToolRunResult};
use jackline_runtime::drive::Prompt;
use serde_json::{Value, json};

use crate::support::{Fixed, Heard, Turns, agent, builder, says};

fn picture(url: &str) -> Part {
    Part::Image { url: url.to_owned() }
}

/// Runs to the end and gives back what was heard.
async fn run(turns: &Turns, prompt: impl Into<Prompt>) -> Heard {
    let heard = Heard::default();
    let result = ToolRunResult {
        execution_time: Some(7),
        device_execution_time: Some(5),
        work_registration: Some(json!({"type": "note", "data": "kept"})),
        ..ToolRunResult::ok("told")
    };
    let runtime = builder(turns).tool(Fixed::new(result)).build().unwrap();
    let run = runtime.start(&agent(), prompt, heard.hooks()).unwrap();
    run.wait().await.unwrap();
    let last = runtime.store().messages(run.id()).unwrap().pop().unwrap();
    let MessageBody::Assistant { content, .. } = last.message.body else { panic!("the model has the last word") };
    let event = heard.of(HookKind::OnComplete).remove(0);
    assert_eq!(
        event.get("lastAssistantContent").cloned(),
        Some(content.text()).filter(|text| !text.is_empty()).map(Value::from)
    );
    heard
}

#[tokio::test]
async fn l09_the_last_text_is_that_of_the_row_and_never_of_an_older_turn() {
    let heard = run(&Turns::new([says("Let me see.", &[("test____tell", "{}")]), says("Done.", &[])]), "go").await;
    assert_eq!(heard.of(HookKind::OnComplete)[0]["lastAssistantContent"], "Done.");

    let only_picture = Content::Parts(vec![picture("https://example.org/a.png")]);
    let turns = Turns::new([says("Let me draw.", &[("test____tell", "{}")]), says(only_picture, &[])]);
    let event = run(&turns, "go").await.of(HookKind::OnComplete).remove(0);
    assert_eq!(event.get("lastAssistantContent"), None);
    assert_eq!(event["attachments"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn l10_attachments_keep_data_and_http_addresses_and_drop_other_schemes() {
    let parts = Content::Parts(vec![
        Part::Text { text: "Look.".to_owned() },
        picture("data:image/png;base64,AAAA"),
        Part::File { url: "https://example.org/a.pdf".to_owned(), name: Some("a.pdf".to_owned()) },
        picture("ftp://example.org/b.png"),
    ]);
    let event = run(&Turns::new([says(parts, &[])]), "go").await.of(HookKind::OnComplete).remove(0);
    let expected = json!([
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "file", "fetchUrl": "https://example.org/a.pdf", "name": "a.pdf"},
    ]);
    assert_eq!(event["attachments"], expected);
    assert_eq!(event["lastAssistantContent"], "Look.");
}

#[tokio::test]
async fn after_step_tells_words_of_model_steps_and_results_of_tool_steps() {
    let heard = run(&Turns::new([says("Let me see.", &[("test____tell", "{}")]), says("Done.", &[])]), "go").await;
    let steps = heard.of(HookKind::AfterStep);
    let fields = ["stepType", "content", "toolsCalling", "toolsResult", "lastLLMContent", "lastToolsCalling"];
    let told: Vec<Vec<Value>> = steps
        .iter()
        .map(|step| fields.iter().map(|field| step.get(field).cloned().unwrap_or(Value::Null)).collect())
        .collect();
    let calling = json!([{"identifier": "test", "apiName": "tell", "arguments": "{}"}]);
    let result = json!([{
        "identifier": "test", "apiName": "tell", "isSuccess": true, "output": "told",
        "executionTimeMs": 7, "deviceExecutionTimeMs": 5,
    }]);
    let none = Value::Null;
    let expected = [
        [json!("call_llm"), json!("Let me see."), calling.clone(), none.clone(), none.clone(), none.clone()],
        [json!("call_tool"), none.clone(), none.clone(), result, json!("Let me see."), calling.clone()],
        [json!("call_llm"), json!("Done."), none.clone(), none.clone(), json!("Let me see."), calling.clone()],
        [json!("call_llm"), none.clone(), none.clone(), none, json!("Done."), calling],
    ];
    assert_eq!(told, expected.map(|row| row.to_vec()));
    assert_eq!(steps.iter().map(|step| step["totalToolCalls"].clone()).collect::<Vec<_>>(), [1, 1, 1, 1]);
}

#[tokio::test]
async fn after_tool_call_tells_the_times_of_the_tool() {
    let turns = Turns::new([says("", &[("test____tell", "{}")]), says("Done.", &[])]);
    let event = run(&turns, "go").await.of(HookKind::AfterToolCall).remove(0);
    let result = &event["result"];
    assert_eq!((&result["executionTime"], &result["deviceExecutionTime"]), (&json!(7), &json!(5)));
    assert_eq!(result["workRegistration"], json!({"type": "note", "data": "kept"}));
}

#[tokio::test]
async fn the_source_message_is_the_prompt_unless_the_origin_names_another() {
    let turns = || Turns::new([says("", &[("test____tell", "{}")]), says("Done.", &[])]);
    let event = run(&turns(), "go").await.of(HookKind::BeforeToolCall).remove(0);
    assert_eq!(event["sourceMessageId"], "m1");

    let origin = Origin { source_message_id: Some("msg_9".into()), ..Origin::default() };
    let prompt = Prompt { origin, ..Prompt::from("go") };
    let event = run(&turns(), prompt).await.of(HookKind::BeforeToolCall).remove(0);
    assert_eq!(event["sourceMessageId"], "msg_9");
}
