//! What receivers are sent.

use super::*;

fn told(url: String) -> WebhookConfig {
    WebhookConfig::new(url)
}

fn skill_event() -> Event {
    let mut result = ToolRunResult::ok("text");
    result.work_registration = Some(json!({"type": "skill", "args": {"secret": 1}, "data": {"secret": 2}, "id": "w"}));
    AfterToolCallEvent { context: tool_context(), mocked: false, result }.into()
}

#[tokio::test]
async fn f03_every_event_arrives_with_the_address_of_its_user() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let hooks = HookKind::ALL
            .into_iter()
            .fold(Hooks::new(), |hooks, kind| Hooks::from(hooks.webhook("w", kind, told(server.url("/")))));
        let handle = handle(way, &Vars::default(), hooks);
        for kind in HookKind::ALL {
            let mut expected = example(kind).to_json();
            expected["hookId"] = json!("w");
            expected["hookType"] = json!(kind);
            if expected["userId"] == "user_1" {
                expected["userEmail"] = json!("user_1@example.test");
            }
            fire(&handle, kind).await;
            assert_eq!(server.seen().last().unwrap().json(), expected, "{way:?}");
        }
    }
}

#[tokio::test]
async fn f10_one_query_serves_all_dispatches_of_a_user() {
    let server = Server::always(Reply::ok(""));
    let directory = Arc::new(Directory::default());
    let carriers = Carriers { webhook: Some(Arc::new(carrier(&Vars::default()))), ..Carriers::default() };
    let ports = HookPorts {
        carriers,
        directory: Arc::clone(&directory) as _,
        ..HookPorts::new(Arc::new(Clock(Instant::now())))
    };
    let dispatcher = HookDispatcher::with_ports(ports);
    let hooks = Hooks::new().webhook("1", HookKind::AfterStep, told(server.url("/1"))).webhook(
        "2",
        HookKind::AfterStep,
        told(server.url("/2")),
    );
    dispatcher.register(&"op_1".into(), hooks).unwrap();
    let handle = dispatcher.handle(&Rounds::of("op_1"));
    let _ = tokio::join!(fire(&handle, HookKind::AfterStep), fire(&handle, HookKind::AfterStep));
    assert_eq!(
        (server.seen().len(), directory.asked.lock().unwrap().as_slice()),
        (4, ["user_1".to_owned()].as_slice())
    );
}

#[tokio::test]
async fn f15_f17_a_notification_is_trimmed_and_a_control_sees_all() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let hooks = Hooks::new()
            .webhook("told", HookKind::AfterToolCall, told(server.url("/told")))
            .webhook(
                "part",
                HookKind::AfterToolCall,
                config(json!({"url": server.url("/part"), "eventFields": ["result"]})),
            )
            .webhook("asked", HookKind::AfterToolCall, control(&server.url("/asked"), json!({})));
        let handle = handle(way, &Vars::default(), hooks);
        let event = skill_event();
        handle.dispatch(HookKind::AfterToolCall, || event.clone()).await;
        let Event::AfterToolCall(whole) = &event else { panic!("it is that event") };
        let _ = after(&handle, whole.result.clone()).await;
        let sent: Vec<_> = server.seen().iter().map(|seen| seen.json()["result"]["workRegistration"].clone()).collect();
        let trimmed = json!({"type": "skill", "data": null, "id": "w"});
        assert_eq!(sent, [trimmed.clone(), trimmed, json!(whole.result.work_registration)], "{way:?}");
        assert_eq!(event, skill_event());
    }
}

#[tokio::test]
async fn f15_what_is_published_to_qstash_is_trimmed_as_well() {
    let server = Server::always(Reply::ok(""));
    let vars = Vars::of([("QSTASH_URL", server.url("").as_str()), ("QSTASH_TOKEN", "t")]);
    let hooks = Hooks::new().webhook(
        "told",
        HookKind::AfterToolCall,
        config(json!({"url": "https://example.test/hook", "delivery": "qstash"})),
    );
    local(&vars, hooks).dispatch(HookKind::AfterToolCall, skill_event).await;
    assert_eq!(server.seen()[0].json()["result"]["workRegistration"]["data"], json!(null));
}

#[tokio::test]
async fn f18_a_restored_hook_with_another_identity_gets_the_address_of_that_one() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let bridge = json!({"url": server.url("/"), "fallback": "none", "eventFields": ["operationId", "reason", "userEmail"], "body": {"userId": "user_2"}});
        let hooks = Hooks::new().webhook("bridge", HookKind::OnComplete, config(bridge));
        fire(&handle(way, &Vars::default(), hooks), HookKind::OnComplete).await;
        let expected = json!({
            "hookId": "bridge", "hookType": "onComplete", "operationId": "op_1", "reason": "done",
            "userId": "user_2", "userEmail": "user_2@example.test"
        });
        assert_eq!(server.seen()[0].json(), expected, "{way:?}");
    }
}

#[tokio::test]
async fn h20_a_user_inside_the_arguments_is_nobody() {
    let server = Server::always(Reply::allow());
    let hooks = Hooks::new().webhook("c", HookKind::BeforeToolCall, control(&server.url("/"), json!({})));
    let context = ToolCallContext { args: effective_args(r#"{"userId":"user_2"}"#), ..tool_context() };
    let handle = local(&Vars::default(), hooks);
    let _ = handle.dispatch_before_tool_call(|| BeforeToolCallEvent { context }).await;
    let sent = server.seen()[0].json();
    assert_eq!((&sent["userId"], &sent["userEmail"]), (&json!("user_1"), &json!("user_1@example.test")));
}
