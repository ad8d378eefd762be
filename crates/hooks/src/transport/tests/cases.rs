//! Cases of the case log, with real sockets.

use super::*;

fn asked(url: String, more: Value) -> Hooks {
    let config = control(&url, more);
    Hooks::new()
        .webhook("before", HookKind::BeforeToolCall, config.clone())
        .webhook("after", HookKind::AfterToolCall, config)
        .into()
}

async fn both(hooks: Hooks) -> (Option<String>, Option<String>) {
    let handle = local(&Vars::default(), hooks);
    let (call, _) = before(&handle).await;
    let (result, _) = after(&handle, ToolRunResult::ok("raw")).await;
    let owned = |reason: Option<Option<&str>>| reason.flatten().map(str::to_owned);
    (owned(denial(&call)), owned(withheld(&result)))
}

fn blocked() -> (Option<String>, Option<String>) {
    let reason = || Some(CONTROL_ERROR_REASON.to_owned());
    (reason(), reason())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c107_a_hook_that_never_returns_can_be_cancelled_and_has_a_limit() {
    let server = Server::always(Reply::Hang);
    let handle = local(&Vars::default(), asked(server.url("/"), json!({})));
    let asking = tokio::spawn(async move { before(&handle).await.1 });
    server.wait_for(1);
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert_eq!(both(asked(server.url("/"), json!({"timeout": 0.1}))).await, (None, None));
}

#[tokio::test]
async fn c117_arguments_are_an_object() {
    let server = Server::always(Reply::allow());
    both(asked(server.url("/"), json!({}))).await;
    assert!(server.seen().iter().all(|seen| seen.json()["args"].is_object()));
}

#[tokio::test]
async fn c118_an_after_hook_that_hangs_delays_one_result_and_empties_none() {
    let server = Server::start({
        let first = std::sync::atomic::AtomicBool::new(true);
        move |_| if first.swap(false, Ordering::SeqCst) { Reply::Hang } else { Reply::allow() }
    });
    let hooks = Hooks::new().webhook("slow", HookKind::AfterToolCall, control(&server.url("/"), json!({"timeout": 1})));
    let handle = local(&Vars::default(), hooks);
    for expected in [AnswerClass::Timeout, AnswerClass::Keep] {
        let (ruling, delivery) = after(&handle, ToolRunResult::ok("raw")).await;
        assert_eq!((withheld(&ruling), delivery.receipts[0].answer), (None, expected));
    }
}

#[tokio::test]
async fn c121_a_second_receiver_sees_nothing() {
    let second = Server::always(Reply::allow());
    for status in [302, 307] {
        let server = Server::always(Reply::Redirect(status, second.url("/")));
        assert_eq!(both(asked(server.url("/"), json!({"onError": "block"}))).await, blocked());
        assert_eq!(both(asked(server.url("/"), json!({}))).await, (None, None));
    }
    assert!(second.seen().is_empty());
}

#[tokio::test]
async fn c123_a_misspelled_decision_is_no_permission() {
    for decision in [json!("blok"), json!("DENY"), json!(true), json!(null), json!(["deny"])] {
        let server = Server::always(Reply::ok(json!({"decision": decision}).to_string()));
        assert_eq!(both(asked(server.url("/"), json!({"onError": "block"}))).await, blocked(), "{decision}");
        assert_eq!(both(asked(server.url("/"), json!({"onError": "continue"}))).await, (None, None));
    }
}

#[tokio::test]
async fn c125_a_deadline_is_in_seconds_and_decides_by_policy() {
    let (server, started) = (Server::always(Reply::Hang), Instant::now());
    assert_eq!(both(asked(server.url("/"), json!({"timeout": 0.5, "onError": "block"}))).await, blocked());
    assert_eq!(both(asked(server.url("/"), json!({"timeout": 0.5}))).await, (None, None));
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_millis(2_000) && elapsed < Duration::from_secs(12), "{elapsed:?}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn c126_a_reply_is_read_up_to_its_limit() {
    for announced in [true, false] {
        let (server, started) = (Server::always(Reply::Endless { announced }), Instant::now());
        assert_eq!(both(asked(server.url("/"), json!({"onError": "block"}))).await, blocked());
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    let slow = Server::always(Reply::Drip([b" ".repeat(2_000).as_slice(), br#"{"decision":"allow"}"#].concat()));
    assert_eq!(both(asked(slow.url("/"), json!({"onError": "block", "timeout": 0.2}))).await, blocked());
}

#[tokio::test]
async fn c128_the_status_counts_before_the_body() {
    for (status, body, expected) in [
        (500, r#"{"decision":"allow"}"#, CONTROL_ERROR_REASON),
        (403, r#"{"decision":"deny","reason":"no"}"#, CONTROL_ERROR_REASON),
        (201, r#"{"decision":"deny","reason":"no"}"#, "no"),
    ] {
        let server = Server::always(Reply::Full(status, body.as_bytes().to_vec()));
        let expected = (Some(expected.to_owned()), Some(expected.to_owned()));
        assert_eq!(both(asked(server.url("/"), json!({"onError": "block"}))).await, expected, "{status}");
    }
}

#[tokio::test]
async fn nested_formats_of_other_systems_are_heard_and_decide_nothing() {
    for body in [
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}),
        json!({"output": {"decision": "deny"}}),
        json!([{"decision": "deny"}]),
    ] {
        let server = Server::always(Reply::ok(body.to_string()));
        assert_eq!(both(asked(server.url("/"), json!({"onError": "block"}))).await, (None, None));
    }
}

#[tokio::test]
async fn three_carriers_give_the_same_answers() {
    for (native, body, expected) in [
        (Ok(Decision::Allow), r#"{"decision":"allow"}"#, None),
        (Ok(Decision::deny("no")), r#"{"decision":"deny","reason":"no"}"#, Some(Some("no"))),
        (Ok(Decision::Deny { reason: None }), r#"{"decision":"deny"}"#, Some(None)),
        (Err(HookError::new("broken")), r#"{"decision":"?"}"#, Some(Some(CONTROL_ERROR_REASON))),
    ] {
        let server = Server::always(Reply::ok(body));
        let block = json!({"onError": "block"});
        let command = json!({"command": ["/bin/sh", "-c", format!("echo '{body}'")], "responseHandling": "toolCall", "onError": "block"});
        let carriers: [Hooks; 3] = [
            Hooks::new()
                .control_before_tool_call("c", move |_| std::future::ready(native.clone()))
                .on_error(OnError::Block)
                .into(),
            Hooks::new().webhook("c", HookKind::BeforeToolCall, control(&server.url("/"), block)).into(),
            Hooks::new().command("c", HookKind::BeforeToolCall, CommandConfig::from_json(&command).unwrap()).into(),
        ];
        for hooks in carriers {
            let (ruling, delivery) = before(&local(&Vars::default(), hooks)).await;
            assert_eq!(denial(&ruling), expected, "{:?}", delivery.receipts[0].carrier);
            let is_failure = expected == Some(Some(CONTROL_ERROR_REASON));
            let cause = if is_failure { RulingCause::Failure } else { RulingCause::Policy };
            assert_eq!(delivery.receipts[0].decided_by, expected.map(|_| cause));
        }
    }
}
