//! Hooks that the environment declares.

use super::*;

fn declared(server: &Server, events: &str) -> Vars {
    Vars::of([
        ("AGENT_HOOK_WEBHOOK_URL", server.url("/environment").as_str()),
        ("AGENT_HOOK_WEBHOOK_TOKEN", "s3cret"),
        ("AGENT_HOOK_WEBHOOK_EVENTS", events),
    ])
}

fn controlling(server: &Server, events: &str) -> Vars {
    let vars = declared(server, events);
    vars.set("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall");
    vars
}

#[tokio::test]
async fn k06_k14_they_apply_to_every_operation_and_are_never_stored() {
    let server = Server::always(Reply::ok(""));
    let vars = declared(&server, "afterStep,onComplete,onError");
    for way in WAYS {
        let dispatcher = dispatcher(way.mode, &vars);
        // Another process registers nothing, and they are there all the same.
        for _ in 0..if way.is_cold { 0 } else { 2 } {
            dispatcher.register(&"op_1".into(), Hooks::new()).unwrap();
        }
        assert!(!dispatcher.has_hooks(&"op_1".into()));
        assert_eq!(dispatcher.serialized(&"op_1".into()), None);
        for rounds in [Rounds::of("op_1"), Rounds::under(["op_1".into()], "child")] {
            let handle = dispatcher.handle(&rounds);
            for kind in [HookKind::AfterStep, HookKind::OnComplete, HookKind::OnError] {
                let delivery = fire(&handle, kind).await;
                assert_eq!(delivery.receipts.len(), 1);
                assert_eq!(delivery.receipts[0].hook.as_str(), format!("server-env-webhook:{kind}"));
            }
        }
    }
    assert_eq!(server.seen().len(), 24);
}

#[tokio::test]
async fn a24_an_invalid_environment_stops_registration_and_stores_nothing() {
    let server = Server::always(Reply::ok(""));
    let vars = declared(&server, "beforeToolCall,...");
    let dispatcher = dispatcher(DispatchMode::Local, &vars);
    let hooks = Hooks::new().webhook("w", HookKind::AfterStep, WebhookConfig::new(server.url("/")));
    let error = dispatcher.register(&"op_1".into(), hooks).unwrap_err();
    assert_eq!(error.to_string(), "Invalid Agent Hook environment: AGENT_HOOK_WEBHOOK_EVENTS");
    assert!(!dispatcher.has_hooks(&"op_1".into()) && dispatcher.can_deliver(&"op_1".into(), HookKind::AfterStep));
}

#[tokio::test]
async fn an_invalid_environment_is_never_no_policy() {
    let server = Server::always(Reply::allow());
    for way in WAYS {
        let vars = controlling(&server, "beforeToolCall");
        let handle = handle(way, &vars, Hooks::new());
        assert_eq!(denial(&before(&handle).await.0), None);
        vars.set("AGENT_HOOK_WEBHOOK_URL", "ftp://host");
        let (ruling, delivery) = before(&handle).await;
        assert_eq!(denial(&ruling), Some(Some(CONTROL_ERROR_REASON)), "{way:?}");
        assert_eq!(ruling.by().unwrap().hook.as_str(), "server-env-webhook:beforeToolCall");
        let error = delivery.surface().unwrap_err().to_string();
        assert_eq!(error, "Invalid Agent Hook environment: AGENT_HOOK_WEBHOOK_URL");
        assert!(fire(&handle, HookKind::AfterStep).await.surface().is_err());
    }
}

#[tokio::test]
async fn k08_a_rotated_token_counts_at_once_and_stored_copies_are_dropped() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let vars = declared(&server, "afterStep");
        let stale = json!({"id": "server-env-webhook:afterStep", "type": "afterStep", "webhook": {"url": server.url("/stale")}});
        let dispatcher = dispatcher(way.mode, &vars);
        let handle = dispatcher.handle(&Rounds::of("op_1").with_stored("op_1", vec![stale]));
        fire(&handle, HookKind::AfterStep).await;
        vars.set("AGENT_HOOK_WEBHOOK_TOKEN", "rotated");
        fire(&handle, HookKind::AfterStep).await;
        let tokens: Vec<_> =
            server.seen().into_iter().map(|seen| (seen.path, seen.headers["authorization"].clone())).collect();
        let expected = [("/environment", "Bearer s3cret"), ("/environment", "Bearer rotated")];
        assert_eq!(tokens, expected.map(|(path, token)| (path.to_owned(), token.to_owned())), "{way:?}");
    }
}

#[tokio::test]
async fn k09_i17_hooks_of_the_caller_come_first_and_the_environment_once() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let vars = controlling(&server, "beforeToolCall,afterToolCall,onComplete");
        let hooks = Hooks::new()
            .webhook("told", HookKind::OnComplete, WebhookConfig::new(server.url("/told")))
            .webhook("asked", HookKind::AfterToolCall, control(&server.url("/asked"), json!({})));
        let handle = handle(way, &vars, hooks);
        fire(&handle, HookKind::OnComplete).await;
        let _ = after(&handle, ToolRunResult::ok("x")).await;
        assert_eq!(server.paths(), ["/told", "/environment", "/asked", "/environment"], "{way:?}");
    }
}

#[tokio::test]
async fn k10_k11_changes_take_effect_at_once() {
    for way in WAYS {
        let (old, new) = (Server::always(Reply::ok("")), Server::always(Reply::ok("")));
        let vars = declared(&old, "afterStep,onComplete");
        let dispatcher = dispatcher(way.mode, &vars);
        let own = Hooks::new().webhook("own", HookKind::OnError, WebhookConfig::new(old.url("/own")));
        dispatcher.register(&"op_1".into(), own).unwrap();
        let stored = dispatcher.serialized(&"op_1".into()).unwrap();
        let rounds = Rounds::of("op_1");
        let handle = dispatcher.handle(&if way.is_cold { rounds.with_stored("op_1", stored) } else { rounds });
        let can = |kind| dispatcher.can_deliver(&"op_1".into(), kind);
        fire(&handle, HookKind::AfterStep).await;
        assert!(can(HookKind::AfterStep) && can(HookKind::OnError));
        vars.set("AGENT_HOOK_WEBHOOK_URL", &new.url("/new"));
        vars.set("AGENT_HOOK_WEBHOOK_EVENTS", "onComplete");
        assert!(!can(HookKind::AfterStep) && !handle.wants(HookKind::AfterStep));
        fire(&handle, HookKind::AfterStep).await;
        fire(&handle, HookKind::OnComplete).await;
        vars.remove("AGENT_HOOK_WEBHOOK_URL");
        fire(&handle, HookKind::OnComplete).await;
        fire(&handle, HookKind::OnError).await;
        assert_eq!(
            (old.paths(), new.paths()),
            (vec!["/environment".into(), "/own".into()], vec!["/new".into()]),
            "{way:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k12_by_default_they_cannot_deny_and_evaluating_sends_nothing() {
    for way in WAYS {
        let server = Server::always(Reply::deny("no"));
        let handle = handle(way, &declared(&server, "beforeToolCall,afterToolCall"), Hooks::new());
        let (ruling, delivery) = before(&handle).await;
        assert_eq!((denial(&ruling), delivery.receipts[0].answer), (None, AnswerClass::Started), "{way:?}");
        server.wait_for(1);
        assert_eq!(withheld(&after(&handle, ToolRunResult::ok("x")).await.0), None);
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn k13_a_local_mock_works_next_to_a_control_of_the_environment() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let hooks =
            Hooks::new().mock_before_tool_call("m", |_| std::future::ready(MockAnswer::Mock(ToolRunResult::ok("x"))));
        let (ruling, _) = before(&handle(way, &controlling(&server, "beforeToolCall"), hooks)).await;
        let is_live = way.mode == DispatchMode::Local && !way.is_cold;
        assert_eq!(matches!(ruling.verdict(), BeforeVerdict::Mock(_)), is_live, "{way:?}");
        assert_eq!(server.seen().len(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn i20_only_the_listed_events_are_controlled_each_once() {
    for way in WAYS {
        for (events, asked) in [("beforeToolCall", 1), ("afterToolCall", 1), ("beforeToolCall,afterToolCall", 2)] {
            let server = Server::always(Reply::ok("{}"));
            let vars = controlling(&server, events);
            vars.set("AGENT_HOOK_WEBHOOK_ON_ERROR", "block");
            let handle = handle(way, &vars, Hooks::new());
            assert_eq!(denial(&before(&handle).await.0), None);
            assert_eq!(withheld(&after(&handle, ToolRunResult::ok("x")).await.0), None);
            assert_eq!(server.seen().len(), asked, "{way:?} {events}");
        }
    }
}
