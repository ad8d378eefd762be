//! Dispatch to webhooks: who is told, in which order, in each mode, live and restored.

use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn count_one(calls: &AtomicUsize) -> std::future::Ready<()> {
    calls.fetch_add(1, Ordering::SeqCst);
    ready(())
}

fn told(url: String) -> WebhookConfig {
    WebhookConfig::new(url)
}

#[tokio::test]
async fn b05_a_webhook_alone_gets_one_post_in_each_mode() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let hooks = Hooks::new().webhook("w", HookKind::AfterStep, told(server.url("/")));
        let delivery = fire(&handle(way, &Vars::default(), hooks), HookKind::AfterStep).await;
        assert_eq!((server.seen().len(), delivery.receipts[0].answer), (1, AnswerClass::Ok), "{way:?}");
        assert_eq!(delivery.surface().map(|delivery| delivery.receipts.len()), Ok(1));
    }
}

#[tokio::test]
async fn b06_b07_a_handler_is_called_locally_and_its_webhook_in_queue_mode() {
    for way in WAYS {
        let (server, calls) = (Server::always(Reply::ok("")), Arc::new(AtomicUsize::new(0)));
        let count = || {
            let calls = Arc::clone(&calls);
            move |_| count_one(&calls)
        };
        let hooks = Hooks::new()
            .after_step("both", count())
            .with_webhook(told(server.url("/both")))
            .after_step("handler", count())
            .webhook("webhook", HookKind::AfterStep, told(server.url("/webhook")));
        fire(&handle(way, &Vars::default(), hooks), HookKind::AfterStep).await;
        let expected = match way.mode == DispatchMode::Local && !way.is_cold {
            true => (2, vec!["/webhook".to_owned()]),
            false => (0, vec!["/both".to_owned(), "/webhook".to_owned()]),
        };
        assert_eq!((calls.load(Ordering::SeqCst), server.paths()), expected, "{way:?}");
    }
}

#[tokio::test]
async fn b08_what_was_stored_is_delivered_by_another_dispatcher() {
    for mode in [DispatchMode::Local, DispatchMode::Queue] {
        let server = Server::always(Reply::ok(""));
        let hooks = Hooks::new().after_step("both", |_| ready(())).with_webhook(told(server.url("/both")));
        fire(&handle(Way { mode, is_cold: true }, &Vars::default(), hooks), HookKind::AfterStep).await;
        assert_eq!(server.paths(), ["/both"], "{mode:?}");
    }
}

#[tokio::test]
async fn b09_a_control_is_never_told() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let hooks = Hooks::new().webhook("c", HookKind::AfterToolCall, control(&server.url("/"), json!({})));
        let delivery = fire(&handle(way, &Vars::default(), hooks), HookKind::AfterToolCall).await;
        assert!(delivery.is_empty() && server.seen().is_empty(), "{way:?}");
    }
}

#[tokio::test]
async fn b10_b11_a_corrupt_entry_fails_the_dispatch_and_lets_nothing_pass() {
    let server = Server::always(Reply::allow());
    for mode in [DispatchMode::Local, DispatchMode::Queue] {
        for (corrupt, text) in [
            (
                json!({"id": "bad", "type": "beforeToolCall", "webhook": {"url": server.url("/"), "responseHandling": "maybe"}}),
                "hook `bad`: Invalid option",
            ),
            (
                json!({"id": "bad", "type": "beforeToolCall", "matcher": "[", "webhook": {"url": server.url("/")}}),
                "Invalid hook matcher regular expression",
            ),
        ] {
            let good = json!({"id": "good", "type": "onComplete", "webhook": {"url": server.url("/")}});
            let rounds = Rounds::of("op_1").with_stored("op_1", vec![good, corrupt]);
            let handle = dispatcher(mode, &Vars::default()).handle(&rounds);
            assert!(handle.wants(HookKind::OnComplete) && handle.controls(HookKind::BeforeToolCall));
            let error = fire(&handle, HookKind::OnComplete).await.surface().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
            let (ruling, delivery) = before(&handle).await;
            assert_eq!(denial(&ruling), Some(Some(CONTROL_ERROR_REASON)));
            assert_eq!(ruling.by().unwrap().cause, RulingCause::Failure);
            assert!(delivery.surface().is_err());
            assert_eq!(withheld(&after(&handle, ToolRunResult::ok("x")).await.0), Some(Some(CONTROL_ERROR_REASON)));
        }
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn b12_a_matcher_selects_webhooks() {
    for way in WAYS {
        let server = Server::always(Reply::deny("no"));
        let hooks = Hooks::new()
            .webhook("c", HookKind::BeforeToolCall, control(&server.url("/"), json!({})))
            .matching("^fs/(read|write)");
        let handle = handle(way, &Vars::default(), hooks);
        assert_eq!(denial(&before_tool(&handle, "http", "get").await.0), None, "{way:?}");
        assert!(server.seen().is_empty());
        assert_eq!(denial(&before_tool(&handle, "fs", "readFile").await.0), Some(Some("no")));
    }
}

#[tokio::test]
async fn b13_b14_b17_c134_a_critical_failure_is_raised_after_the_siblings_and_only_the_first() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let critical = |url: String| WebhookConfig { fallback: Fallback::None, ..told(url) };
        let hooks = Hooks::new()
            .webhook("normal", HookKind::OnComplete, told(server.url("/1")))
            .webhook("first", HookKind::OnComplete, critical(closed_port()))
            .webhook("ordinary", HookKind::OnComplete, told(closed_port()))
            .webhook("second", HookKind::OnComplete, critical(closed_port()))
            .webhook("last", HookKind::OnComplete, told(server.url("/2")));
        let delivery = fire(&handle(way, &Vars::default(), hooks), HookKind::OnComplete).await;
        assert_eq!(server.paths(), ["/1", "/2"], "{way:?}");
        assert_eq!(delivery.receipts.len(), 5);
        let error = delivery.surface().unwrap_err();
        assert_eq!(error.to_string(), "Critical webhook delivery failed: first");
        let DispatchError::Critical(critical) = error else { panic!("it is critical") };
        assert_eq!((critical.hook_id.as_str(), critical.cause.code()), ("first", FaultCode::NetworkError));
    }
}

#[tokio::test]
async fn b16_each_of_the_sixteen_types_reaches_a_webhook() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let hooks = HookKind::ALL.into_iter().fold(Hooks::new(), |hooks, kind| {
            Hooks::from(hooks.webhook(format!("w-{kind}"), kind, told(server.url("/"))))
        });
        let handle = handle(way, &Vars::default(), hooks);
        for kind in HookKind::ALL {
            fire(&handle, kind).await;
            let sent = server.seen().last().unwrap().json();
            assert_eq!((&sent["hookType"], &sent["hookId"]), (&json!(kind), &json!(format!("w-{kind}"))));
        }
        assert_eq!(server.seen().len(), 16, "{way:?}");
    }
}

#[tokio::test]
async fn b18_in_queue_mode_an_empty_list_counts() {
    let server = Server::always(Reply::ok(""));
    for (mode, told_of) in [(DispatchMode::Queue, 0), (DispatchMode::Local, 1)] {
        let dispatcher = dispatcher(mode, &Vars::default());
        let hooks = Hooks::new().webhook("w", HookKind::AfterStep, told(server.url("/")));
        dispatcher.register(&"op_1".into(), hooks).unwrap();
        let handle = dispatcher.handle(&Rounds::of("op_1").with_stored("op_1", Vec::new()));
        assert_eq!(fire(&handle, HookKind::AfterStep).await.receipts.len(), told_of, "{mode:?}");
    }
}

#[tokio::test]
async fn b19_each_is_awaited_before_the_next() {
    for way in WAYS {
        let server =
            Server::start(|seen| if seen.path == "/slow" { Reply::Drip(b"slow".to_vec()) } else { Reply::ok("") });
        let hooks = Hooks::new()
            .webhook(
                "slow",
                HookKind::OnComplete,
                WebhookConfig { delivery: DeliveryKind::Fetch, ..told(server.url("/slow")) },
            )
            .webhook("fast", HookKind::OnComplete, told(server.url("/fast")));
        fire(&handle(way, &Vars::default(), hooks), HookKind::OnComplete).await;
        assert_eq!(server.paths(), ["/slow", "/fast"], "{way:?}");
    }
}

#[tokio::test]
async fn d11_nobody_mocks_in_queue_mode() {
    for way in WAYS {
        let hooks = Hooks::new().mock_before_tool_call("m", |_| ready(MockAnswer::Mock(ToolRunResult::ok("x"))));
        let (ruling, _) = before(&handle(way, &Vars::default(), hooks)).await;
        let is_live = way.mode == DispatchMode::Local && !way.is_cold;
        assert_eq!(matches!(ruling.verdict(), BeforeVerdict::Mock(_)), is_live, "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d12_d13_observers_outside_are_told_once_however_a_mock_ends_the_handlers() {
    for way in WAYS {
        let (server, calls) = (Server::always(Reply::ok("")), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&calls);
        let hooks = Hooks::new()
            .webhook("w1", HookKind::BeforeToolCall, told(server.url("/1")))
            .mock_before_tool_call("m", |_| ready(MockAnswer::Mock(ToolRunResult::ok("x"))))
            .mock_before_tool_call("skipped", move |_| count_one(&counted))
            .webhook("w2", HookKind::BeforeToolCall, told(server.url("/2")));
        let (ruling, delivery) = before(&handle(way, &Vars::default(), hooks)).await;
        let is_live = way.mode == DispatchMode::Local && !way.is_cold;
        assert_eq!(matches!(ruling.verdict(), BeforeVerdict::Mock(_)), is_live, "{way:?}");
        let answers: Vec<_> = delivery.receipts.iter().map(|receipt| receipt.answer).collect();
        let expected = [AnswerClass::Started, AnswerClass::Started, AnswerClass::Mock];
        assert_eq!(answers, expected[..if is_live { 3 } else { 2 }], "{way:?}");
        for seen in server.wait_for(2) {
            assert_eq!(seen.json().get("mock"), None);
        }
        assert_eq!((calls.load(Ordering::SeqCst), server.seen().len()), (0, 2));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h13_h19_an_observer_that_hangs_or_fails_holds_nothing_up_even_a_critical_one() {
    for way in WAYS {
        let (hung, heard) = (Server::always(Reply::Hang), Server::always(Reply::ok("")));
        let critical = |url: String| WebhookConfig { fallback: Fallback::None, ..told(url) };
        let hooks = Hooks::new()
            .webhook("hung", HookKind::BeforeToolCall, critical(hung.url("/")))
            .webhook("closed", HookKind::BeforeToolCall, critical(closed_port()))
            .webhook("heard", HookKind::BeforeToolCall, told(heard.url("/")));
        let (ruling, delivery) = before(&handle(way, &Vars::default(), hooks)).await;
        assert_eq!((denial(&ruling), delivery.failure), (None, None), "{way:?}");
        hung.wait_for(1);
        heard.wait_for(1);
    }
}

#[tokio::test]
async fn beyond_their_bound_observers_that_nobody_waits_for_are_dropped() {
    let hung = Server::always(Reply::Hang);
    let hooks = Hooks::new().webhook("hung", HookKind::BeforeToolCall, told(hung.url("/")));
    let handle = local(&Vars::default(), hooks);
    let mut answers = Vec::new();
    for _ in 0..65 {
        answers.push(before(&handle).await.1.receipts[0].answer);
    }
    assert!(answers[..64].iter().all(|answer| *answer == AnswerClass::Started));
    assert_eq!(answers[64], AnswerClass::Dropped);
}

#[tokio::test]
async fn the_outbox_gets_what_it_will_send_and_nothing_is_sent_meanwhile() {
    for way in WAYS {
        let (server, vars) = (Server::always(Reply::ok("")), Vars::of([("TOKEN", "s3cret")]));
        let outbox = config(json!({
            "url": server.url("/"), "delivery": "outbox", "fallback": "none",
            "headers": {"Authorization": "Bearer ${TOKEN}"}, "allowedEnvVars": ["TOKEN"]
        }));
        let hooks = Hooks::new().webhook("w", HookKind::OnComplete, outbox).webhook(
            "b",
            HookKind::BeforeToolCall,
            WebhookConfig { delivery: DeliveryKind::Outbox, ..told(server.url("/b")) },
        );
        let handle = handle(way, &vars, hooks);
        let delivery = fire(&handle.at("s3.end"), HookKind::OnComplete).await.surface().unwrap();
        assert_eq!(delivery.receipts[0].answer, AnswerClass::Enqueued);
        let [item] = delivery.outbox.try_into().unwrap();
        assert!(!format!("{item:?}{}", json!(item.webhook)).contains("s3cret"));
        assert_eq!(before(&handle).await.1.outbox.len(), 1);
        assert!(server.seen().is_empty());
        carrier(&vars).notify(item.request()).await.unwrap();
        let [seen] = server.seen().try_into().unwrap();
        assert_eq!(seen.headers["webhook-id"], item.delivery_id.as_str());
        assert_eq!(seen.headers["authorization"], "Bearer s3cret");
        assert_eq!(seen.json()["userEmail"], "user_1@example.test");
    }
}

#[tokio::test]
async fn a_repeated_firing_keeps_its_delivery_id_and_others_have_their_own() {
    let server = Server::always(Reply::ok(""));
    let hooks = || {
        Hooks::new().webhook("twin", HookKind::AfterStep, told(server.url("/"))).webhook(
            "twin",
            HookKind::AfterStep,
            told(server.url("/")),
        )
    };
    let ids = async |way, place: &str| -> Vec<_> {
        let delivery = fire(&handle(way, &Vars::default(), hooks()).at(place), HookKind::AfterStep).await;
        delivery.receipts.into_iter().map(|receipt| receipt.delivery_id.unwrap()).collect()
    };
    let first = ids(WAYS[0], "s3.after").await;
    assert_eq!(ids(WAYS[1], "s3.after").await, first);
    let mut all = ids(WAYS[0], "s4.after").await;
    all.extend(first);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}
