//! What is proven of native hooks elsewhere, for webhooks: in both modes, live and restored.

use super::*;

fn before_hooks(server: &Server, paths: &[&str]) -> Hooks {
    paths.iter().fold(Hooks::new(), |hooks, path| {
        hooks.webhook(*path, HookKind::BeforeToolCall, control(&server.url(path), json!({}))).into()
    })
}

/// Denies at `/deny`, allows elsewhere.
fn policy() -> Server {
    Server::start(|seen| if seen.path == "/deny" { Reply::deny("no") } else { Reply::allow() })
}

#[tokio::test]
async fn h01_h06_the_first_denial_ends_the_asking_and_keeps_observers_and_mocks_out() {
    for way in WAYS {
        let server = policy();
        let hooks = before_hooks(&server, &["/1", "/deny", "/3"])
            .webhook("told", HookKind::BeforeToolCall, WebhookConfig::new(server.url("/told")))
            .mock_before_tool_call("m", |_| std::future::ready(MockAnswer::Mock(ToolRunResult::ok("x"))));
        let (ruling, delivery) = before(&handle(way, &Vars::default(), hooks)).await;
        assert_eq!(denial(&ruling), Some(Some("no")), "{way:?}");
        assert_eq!(ruling.by().unwrap().hook.as_str(), "/deny");
        assert_eq!(server.paths(), ["/1", "/deny"], "{way:?}");
        let decided: Vec<_> = delivery.receipts.iter().map(|receipt| receipt.decided_by).collect();
        assert_eq!(decided, [None, Some(RulingCause::Policy)]);
    }
}

#[tokio::test]
async fn h12_h18_odd_and_repeated_call_ids_are_controlled_like_any_other() {
    for way in WAYS {
        let server = Server::always(Reply::deny("no"));
        let handle = handle(way, &Vars::default(), before_hooks(&server, &["/"]));
        for id in ["constructor", "__proto__", "__proto__", "", "../x"] {
            let context = ToolCallContext { tool_call_id: id.into(), ..tool_context() };
            let (ruling, _) = handle.dispatch_before_tool_call(|| BeforeToolCallEvent { context }).await;
            assert_eq!(denial(&ruling), Some(Some("no")), "{way:?} {id}");
            assert_eq!(server.seen().last().unwrap().json()["toolCallId"], id);
        }
        assert_eq!(server.seen().len(), 5, "{way:?}");
    }
}

#[tokio::test]
async fn h17_i07_a_control_that_times_out_follows_its_policy_and_the_next_is_asked_if_it_may_go_on() {
    for way in WAYS {
        for (on_error, expected, asked) in [("continue", None, 2), ("block", Some(Some(CONTROL_ERROR_REASON)), 1)] {
            let server = Server::start(|seen| if seen.path == "/hung" { Reply::Hang } else { Reply::allow() });
            let hung = control(&server.url("/hung"), json!({"onError": on_error, "timeout": 0.1}));
            let hooks = Hooks::new()
                .webhook("hung", HookKind::BeforeToolCall, hung.clone())
                .webhook("next", HookKind::BeforeToolCall, control(&server.url("/next"), json!({})))
                .webhook("hung", HookKind::AfterToolCall, hung)
                .webhook("next", HookKind::AfterToolCall, control(&server.url("/next"), json!({})));
            let handle = handle(way, &Vars::default(), hooks);
            let (ruling, delivery) = before(&handle).await;
            assert_eq!((denial(&ruling), delivery.receipts[0].answer), (expected, AnswerClass::Timeout), "{way:?}");
            assert_eq!(server.seen().len(), asked, "{way:?}");
            let (kept, delivery) = after(&handle, ToolRunResult::ok("raw")).await;
            assert_eq!((withheld(&kept), delivery.receipts[0].answer), (expected, AnswerClass::Timeout), "{way:?}");
            assert_eq!(server.seen().len(), 2 * asked, "{way:?}");
        }
    }
}

#[tokio::test]
async fn i02_i14_a_control_is_shown_the_whole_result_whatever_it_says_of_itself() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let hooks = Hooks::new().webhook("c", HookKind::AfterToolCall, control(&server.url("/"), json!({})));
        let handle = handle(way, &Vars::default(), hooks);
        let state = json!({"type": "blocked", "phase": "afterToolCall"});
        let content = "secret ".repeat(20_000);
        let whole = ToolRunResult { state: state.as_object().cloned(), stop: true, ..ToolRunResult::ok(&content) };
        let (ruling, _) = after(&handle, whole).await;
        assert_eq!(withheld(&ruling), None);
        let sent = server.seen()[0].json();
        assert_eq!((&sent["result"]["content"], &sent["result"]["state"]), (&json!(content), &state), "{way:?}");
        assert_eq!(
            (&sent["toolCallId"], &sent["args"], &sent["mocked"]),
            (&json!("call_abc"), &json!({"path": "a"}), &json!(false))
        );
    }
}

#[tokio::test]
async fn i08_i09_after_controls_keep_order_matcher_and_first_denial_and_a_reason_is_verbatim() {
    for reason in ["  padded \n lines\t", "\"quoted\" 'too'", "禁止执行该操作", "the secret"] {
        for way in WAYS {
            let server = Server::start(move |seen| match seen.path.as_str() {
                "/deny" => Reply::deny(reason),
                _ => Reply::allow(),
            });
            let at = |path: &str| control(&server.url(path), json!({}));
            let hooks = Hooks::new()
                .webhook("1", HookKind::AfterToolCall, at("/1"))
                .webhook("other", HookKind::AfterToolCall, at("/other"))
                .matching("^net/")
                .webhook("2", HookKind::AfterToolCall, at("/deny"))
                .webhook("3", HookKind::AfterToolCall, at("/3"));
            let (ruling, _) = after(&handle(way, &Vars::default(), hooks), ToolRunResult::ok("the secret")).await;
            assert_eq!(withheld(&ruling), Some(Some(reason)), "{way:?}");
            assert_eq!(server.paths(), ["/1", "/deny"], "{way:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h10_i23_a_question_that_is_dropped_rules_nothing_and_asks_nobody_else() {
    for way in WAYS {
        let (hung, next) = (Server::always(Reply::Hang), Server::always(Reply::allow()));
        let hooks =
            [HookKind::BeforeToolCall, HookKind::AfterToolCall].into_iter().fold(Hooks::new(), |hooks, kind| {
                let hooks = hooks.webhook("hung", kind, control(&hung.url("/"), json!({})));
                hooks.webhook("next", kind, control(&next.url("/"), json!({}))).into()
            });
        let handle = handle(way, &Vars::default(), hooks);
        let (call, result) = (handle.clone(), handle);
        let asking = tokio::spawn(async move { before(&call).await.1.receipts.len() });
        let judging = tokio::spawn(async move { after(&result, ToolRunResult::ok("raw")).await.1.receipts.len() });
        hung.wait_for(2);
        for question in [asking, judging] {
            question.abort();
            assert!(question.await.unwrap_err().is_cancelled());
        }
        assert!(next.seen().is_empty(), "{way:?}");
    }
}

#[tokio::test]
async fn b01_b02_b03_each_webhook_of_a_type_is_told_once_in_order_whatever_became_of_those_before_it() {
    for way in WAYS {
        let server =
            Server::start(|seen| if seen.path == "/ill" { Reply::Full(503, Vec::new()) } else { Reply::ok("") });
        let told = |path: &str| WebhookConfig::new(server.url(path));
        let hooks = HookKind::ALL.into_iter().fold(Hooks::new(), |hooks, kind| {
            let ill = hooks.webhook("first", kind, told("/first")).webhook("ill", kind, told("/ill"));
            ill.webhook("last", kind, told("/last")).into()
        });
        let handle = handle(way, &Vars::default(), hooks);
        for kind in HookKind::ALL {
            let so_far = server.seen().len();
            let delivery = fire(&handle, kind).await;
            assert_eq!(server.paths()[so_far..], ["/first", "/ill", "/last"], "{way:?} {kind}");
            assert!(server.seen()[so_far..].iter().all(|seen| seen.json()["hookType"] == json!(kind)), "{way:?}");
            let answers: Vec<_> = delivery.receipts.iter().map(|receipt| receipt.answer).collect();
            assert_eq!(answers, [AnswerClass::Ok, AnswerClass::Error, AnswerClass::Ok], "{way:?} {kind}");
            assert!(delivery.surface().is_ok(), "an ordinary failure is nobody's: {way:?} {kind}");
        }
    }
}

#[tokio::test]
async fn b04_an_operation_that_nobody_knows_tells_nobody() {
    for way in WAYS {
        let server = Server::always(Reply::deny("no"));
        let dispatcher = dispatcher(way.mode, &Vars::default());
        dispatcher.register(&"op_1".into(), before_hooks(&server, &["/"])).unwrap();
        let rounds = Rounds::of("op_9");
        let rounds = if way.is_cold { rounds.with_stored("op_9", Vec::new()) } else { rounds };
        let handle = dispatcher.handle(&rounds);
        assert!(fire(&handle, HookKind::OnComplete).await.is_empty(), "{way:?}");
        assert_eq!(denial(&before(&handle).await.0), None, "{way:?}");
        assert!(server.seen().is_empty(), "{way:?}");
    }
}

#[tokio::test]
async fn b15_a_mock_before_them_takes_nothing_from_the_hooks_of_other_events() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let told = |path: &str| WebhookConfig::new(server.url(path));
        let hooks = Hooks::new()
            .mock_before_tool_call("mock", |_| std::future::ready(MockAnswer::Mock(ToolRunResult::ok("x"))))
            .webhook("step", HookKind::AfterStep, told("/step"))
            .webhook("end", HookKind::OnComplete, told("/end"));
        let handle = handle(way, &Vars::default(), hooks);
        let _ = before(&handle).await;
        for kind in [HookKind::AfterStep, HookKind::OnComplete] {
            fire(&handle, kind).await;
        }
        assert_eq!(server.paths(), ["/step", "/end"], "{way:?}");
    }
}

/// The variables of an environment hook at this server.
fn environment(server: &Server, more: &[(&str, &str)]) -> Vars {
    let vars = Vars::of([
        ("AGENT_HOOK_WEBHOOK_URL", server.url("/env").as_str()),
        ("AGENT_HOOK_WEBHOOK_TOKEN", "s3cret"),
        ("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall,afterToolCall,onComplete"),
        ("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall"),
    ]);
    for (name, value) in more {
        vars.set(name, value);
    }
    vars
}

#[tokio::test]
async fn k03_k05_an_environment_that_makes_no_sense_fails_each_use_and_is_never_no_hooks() {
    let bad = [
        ("AGENT_HOOK_WEBHOOK_TOKEN", " "),
        ("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall,..."),
        ("AGENT_HOOK_WEBHOOK_URL", "ftp://policy.test"),
        ("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolResult"),
        ("AGENT_HOOK_WEBHOOK_ON_ERROR", "perhaps"),
    ];
    for way in WAYS {
        let server = Server::always(Reply::allow());
        // It is well when the hooks are registered.
        let vars = environment(&server, &[]);
        let handle = handle(way, &vars, before_hooks(&server, &["/own"]));
        for (name, value) in bad {
            let good = vars.get(name);
            vars.set(name, value);
            let error = fire(&handle, HookKind::OnComplete).await.surface().unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains("s3cret"), "{way:?} {name}: {error}");
            let (ruling, delivery) = before(&handle).await;
            assert_eq!(denial(&ruling), Some(Some(CONTROL_ERROR_REASON)), "{way:?} {name}");
            assert!(delivery.surface().is_err());
            let (ruling, _) = after(&handle, ToolRunResult::ok("raw")).await;
            assert_eq!(withheld(&ruling), Some(Some(CONTROL_ERROR_REASON)), "{way:?} {name}");
            assert!(server.seen().iter().all(|seen| seen.path != "/env"), "{way:?} {name}");
            match good {
                Some(good) => vars.set(name, &good),
                None => vars.remove(name),
            }
        }
        assert!(fire(&handle, HookKind::OnComplete).await.surface().is_ok(), "it is well again: {way:?}");
    }
}

#[tokio::test]
async fn k01_k02_k04_k07_the_events_that_are_listed_are_told_and_those_of_tools_have_a_say() {
    for way in WAYS {
        let server = Server::always(Reply::deny("not here"));
        let vars = environment(&server, &[("AGENT_HOOK_WEBHOOK_ON_ERROR", "block")]);
        let handle = handle(way, &vars, Hooks::new());
        for (events, is_before, is_after, is_end) in [
            (" beforeToolCall, ,beforeToolCall", true, false, false),
            ("afterToolCall", false, true, false),
            ("afterToolCall,onComplete,beforeToolCall", true, true, true),
        ] {
            vars.set("AGENT_HOOK_WEBHOOK_EVENTS", events);
            let so_far = server.seen().len();
            let denied = |expected: bool| expected.then_some(Some("not here"));
            assert_eq!(denial(&before(&handle).await.0), denied(is_before), "{way:?} {events}");
            assert_eq!(withheld(&after(&handle, ToolRunResult::ok("x")).await.0), denied(is_after), "{way:?} {events}");
            // Of another event the same answer decides nothing.
            assert!(fire(&handle, HookKind::OnComplete).await.surface().is_ok());
            let count = usize::from(is_before) + usize::from(is_after) + usize::from(is_end);
            assert_eq!(server.seen().len() - so_far, count, "each once: {way:?} {events}");
            assert!(server.seen().iter().all(|seen| seen.headers["authorization"] == "Bearer s3cret"));
        }
        for name in ["URL", "TOKEN", "EVENTS", "RESPONSE_HANDLING", "ON_ERROR"] {
            vars.remove(&format!("AGENT_HOOK_WEBHOOK_{name}"));
        }
        let so_far = server.seen().len();
        assert_eq!(denial(&before(&handle).await.0), None);
        assert_eq!(server.seen().len(), so_far, "nothing is set: {way:?}");
    }
}
