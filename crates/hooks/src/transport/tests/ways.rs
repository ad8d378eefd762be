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
