//! Controls over HTTP: what each reply comes to, in every mode, live and restored.

use super::*;

fn at(url: &str, more: Value) -> Hooks {
    Hooks::new().webhook("policy", HookKind::BeforeToolCall, control(url, more)).into()
}

#[tokio::test]
async fn g08_a_204_of_a_real_server_is_a_notification() {
    for way in WAYS {
        let server = Server::always(Reply::Full(204, Vec::new()));
        let handle = handle(way, &Vars::default(), at(&server.url("/"), json!({"onError": "block"})));
        let (ruling, delivery) = before(&handle).await;
        assert_eq!((denial(&ruling), delivery.receipts[0].answer), (None, AnswerClass::Notification), "{way:?}");
    }
}

#[tokio::test]
async fn g09_bytes_that_are_no_reply_are_errors() {
    for (reply, code) in [
        (Reply::ok([0xff, 0xfe]), FaultCode::InvalidResponse),
        (Reply::ok(vec![b' '; 100_000]), FaultCode::ResponseTooLarge),
        (Reply::Endless { announced: false }, FaultCode::ResponseTooLarge),
        (Reply::Endless { announced: true }, FaultCode::ResponseTooLarge),
        (Reply::Cut(br#"{"decision":"allow"}"#.to_vec()), FaultCode::NetworkError),
        (Reply::Close, FaultCode::NetworkError),
        (Reply::Full(503, br#"{"decision":"allow"}"#.to_vec()), FaultCode::HttpError),
    ] {
        let server = Server::always(reply);
        let fault = ask(&Vars::default(), json!({"url": server.url("/"), "responseHandling": "toolCall"})).await;
        assert_eq!(fault.unwrap_err().code(), code);
    }
}

#[tokio::test]
async fn g06_an_error_follows_its_policy_and_the_default_goes_on() {
    for way in WAYS {
        for (more, expected) in [
            (json!({}), None),
            (json!({"onError": "continue"}), None),
            (json!({"onError": "block"}), Some(Some(CONTROL_ERROR_REASON))),
        ] {
            for reply in [Reply::ok(r#"{"decision":"ask"}"#), Reply::Full(500, Vec::new()), Reply::Close] {
                let server = Server::always(reply);
                let hooks = Hooks::new()
                    .webhook("b", HookKind::BeforeToolCall, control(&server.url("/"), more.clone()))
                    .webhook("a", HookKind::AfterToolCall, control(&server.url("/"), more.clone()));
                let handle = handle(way, &Vars::default(), hooks);
                let (ruling, delivery) = before(&handle).await;
                assert_eq!(denial(&ruling), expected, "{way:?}");
                assert!(delivery.receipts[0].fault.is_some() && delivery.failure.is_none());
                assert_eq!(withheld(&after(&handle, ToolRunResult::ok("raw")).await.0), expected);
                assert_eq!(server.seen().len(), 2);
            }
        }
    }
}

#[tokio::test]
async fn every_class_of_reply_means_the_same_for_calls_and_results() {
    for way in WAYS {
        for (reply, expected, class) in [
            (Reply::allow(), None, AnswerClass::Allow),
            (Reply::ok("thanks"), None, AnswerClass::Notification),
            (Reply::deny("No\n writes. "), Some(Some("No\n writes. ")), AnswerClass::Deny),
            (Reply::deny(""), Some(Some("")), AnswerClass::Deny),
            (Reply::ok(r#"{"decision":"deny"}"#), Some(None), AnswerClass::Deny),
        ] {
            let server = Server::always(reply);
            let hooks = Hooks::new()
                .webhook("b", HookKind::BeforeToolCall, control(&server.url("/"), json!({"onError": "block"})))
                .webhook("a", HookKind::AfterToolCall, control(&server.url("/"), json!({"onError": "block"})));
            let handle = handle(way, &Vars::default(), hooks);
            let (ruling, delivery) = before(&handle).await;
            assert_eq!((denial(&ruling), delivery.receipts[0].answer), (expected, class), "{way:?}");
            assert_eq!(delivery.receipts[0].carrier, CarrierKind::Webhook);
            let (ruling, _) = after(&handle, ToolRunResult::ok("raw")).await;
            assert_eq!(withheld(&ruling), expected);
            let sent = server.seen()[1].json();
            assert_eq!((&sent["result"]["content"], &sent["mocked"]), (&json!("raw"), &json!(false)));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g10_a_question_that_is_dropped_decides_nothing() {
    let (server, next) = (Server::always(Reply::Hang), Server::always(Reply::allow()));
    let hooks = Hooks::new().webhook("hung", HookKind::BeforeToolCall, control(&server.url("/"), json!({}))).webhook(
        "next",
        HookKind::BeforeToolCall,
        control(&next.url("/"), json!({})),
    );
    let handle = local(&Vars::default(), hooks);
    // Never started: nothing is sent.
    drop(before(&handle));
    let asking = tokio::spawn(async move { before(&handle).await.1.receipts.len() });
    server.wait_for(1);
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert!(next.seen().is_empty() && server.seen().len() == 1);
}

#[tokio::test]
async fn controls_of_all_carriers_run_in_the_order_of_registration() {
    let server = Server::start(|seen| if seen.path == "/deny" { Reply::deny("no") } else { Reply::allow() });
    let notes = Arc::new(Mutex::new(Vec::new()));
    let native = Arc::clone(&notes);
    let hooks = Hooks::new()
        .webhook("1", HookKind::BeforeToolCall, control(&server.url("/1"), json!({})))
        .control_before_tool_call("2", move |_| {
            native.lock().unwrap().push("2");
            std::future::ready(Decision::Allow)
        })
        .command(
            "3",
            HookKind::BeforeToolCall,
            CommandConfig::control(["/bin/sh", "-c", "echo '{\"decision\":\"allow\"}'"]),
        )
        .webhook("4", HookKind::BeforeToolCall, control(&server.url("/deny"), json!({})))
        .webhook("5", HookKind::BeforeToolCall, control(&server.url("/5"), json!({})))
        .mock_before_tool_call("6", |_| std::future::ready(MockAnswer::Mock(ToolRunResult::ok("mock"))));
    let (ruling, delivery) = before(&local(&Vars::default(), hooks)).await;
    assert_eq!(denial(&ruling), Some(Some("no")));
    let asked: Vec<_> =
        delivery.receipts.iter().map(|receipt| (receipt.hook.as_str(), receipt.carrier, receipt.answer)).collect();
    let expected = [
        ("1", CarrierKind::Webhook, AnswerClass::Allow),
        ("2", CarrierKind::Native, AnswerClass::Allow),
        ("3", CarrierKind::Command, AnswerClass::Allow),
        ("4", CarrierKind::Webhook, AnswerClass::Deny),
    ];
    assert_eq!((asked.as_slice(), notes.lock().unwrap().as_slice()), (expected.as_slice(), ["2"].as_slice()));
}

#[tokio::test]
async fn h22_h23_arguments_in_a_reply_have_no_effect_and_a_notification_asks_on() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/1" => Reply::ok(r#"{"decision":"allow","updatedInput":{"path":"b"}}"#),
        _ => Reply::ok("heard"),
    });
    for way in WAYS {
        let hooks = Hooks::new()
            .webhook("1", HookKind::BeforeToolCall, control(&server.url("/1"), json!({})))
            .webhook("2", HookKind::BeforeToolCall, control(&server.url("/2"), json!({"onError": "block"})))
            .webhook("3", HookKind::BeforeToolCall, control(&server.url("/3"), json!({})));
        let (ruling, delivery) = before(&handle(way, &Vars::default(), hooks)).await;
        assert_eq!((denial(&ruling), delivery.receipts.len()), (None, 3));
        assert_eq!(server.seen().last().unwrap().json()["args"], json!({"path": "a"}));
    }
}

#[tokio::test]
async fn i16_the_operation_that_asked_for_approval_is_asked_first_and_under_its_own_id() {
    let server = Server::always(Reply::allow());
    let vars = Vars::of([
        ("AGENT_HOOK_WEBHOOK_URL", server.url("/environment").as_str()),
        ("AGENT_HOOK_WEBHOOK_TOKEN", "t"),
        ("AGENT_HOOK_WEBHOOK_EVENTS", "afterToolCall"),
        ("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall"),
    ]);
    for way in WAYS {
        let first = dispatcher(way.mode, &vars);
        let hook = |path| Hooks::new().webhook("same", HookKind::AfterToolCall, control(&server.url(path), json!({})));
        first.register(&"op_1".into(), hook("/running")).unwrap();
        first.register(&"op_0".into(), hook("/asking")).unwrap();
        let rounds = Rounds::of("op_1").asked_by("op_0");
        let handle = if way.is_cold {
            let stored = |id: &str| first.serialized(&id.into()).unwrap();
            let rounds = rounds.with_stored("op_1", stored("op_1")).with_stored("op_0", stored("op_0"));
            dispatcher(way.mode, &vars).handle(&rounds)
        } else {
            first.handle(&rounds)
        };
        let (ruling, _) = after(&handle, ToolRunResult::ok("x")).await;
        assert_eq!(withheld(&ruling), None);
    }
    let asked: Vec<_> =
        server.seen().iter().map(|seen| (seen.path.clone(), seen.json()["operationId"].clone())).collect();
    let round = [("/asking", "op_0"), ("/running", "op_1"), ("/environment", "op_1")];
    let expected: Vec<_> = round.iter().cycle().take(12).map(|(path, id)| ((*path).to_owned(), json!(id))).collect();
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn webhooks_are_inherited_only_if_they_say_so() {
    let server = Server::always(Reply::deny("no"));
    let dispatcher = dispatcher(DispatchMode::Local, &Vars::default());
    let own = Hooks::new().webhook("own", HookKind::BeforeToolCall, control(&server.url("/own"), json!({})));
    dispatcher.register(&"root".into(), own).unwrap();
    let child = Rounds::under(["root".into()], "op_1");
    assert_eq!(denial(&before(&dispatcher.handle(&child)).await.0), None);
    let heir = control(&server.url("/heir"), json!({"inherit": true}));
    dispatcher.register(&"root".into(), Hooks::new().webhook("heir", HookKind::BeforeToolCall, heir)).unwrap();
    assert_eq!(denial(&before(&dispatcher.handle(&child)).await.0), Some(Some("no")));
    assert_eq!(server.paths(), ["/heir"]);
}

#[tokio::test]
async fn i21_replies_without_a_decision_let_call_and_result_through_even_under_block() {
    for way in WAYS {
        for body in ["", "thanks", r#"{"decision":"de"#, "{}"] {
            let server = Server::always(Reply::ok(body));
            let block = control(&server.url("/"), json!({"onError": "block"}));
            let hooks = Hooks::new().webhook("b", HookKind::BeforeToolCall, block.clone()).webhook(
                "a",
                HookKind::AfterToolCall,
                block,
            );
            let handle = handle(way, &Vars::default(), hooks);
            assert_eq!(denial(&before(&handle).await.0), None, "{way:?} {body}");
            assert_eq!(withheld(&after(&handle, ToolRunResult::ok("raw")).await.0), None, "{way:?} {body}");
            assert_eq!(server.seen().len(), 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h08_controls_come_first_and_each_mode_has_its_observers() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let hooks = Hooks::new()
            .observe_before_tool_call("dual", |_| std::future::ready(()))
            .with_webhook(WebhookConfig::new(server.url("/dual")))
            .webhook("http", HookKind::BeforeToolCall, WebhookConfig::new(server.url("/http")))
            .webhook("control", HookKind::BeforeToolCall, control(&server.url("/control"), json!({})));
        let (ruling, delivery) = before(&handle(way, &Vars::default(), hooks)).await;
        assert_eq!(denial(&ruling), None);
        let asked: Vec<_> = delivery.receipts.iter().map(|receipt| (receipt.hook.as_str(), receipt.answer)).collect();
        // A handler does not survive its process, so its webhook stands in for it.
        let is_live = way.mode == DispatchMode::Local && !way.is_cold;
        let (expected, told) = match is_live {
            true => (
                vec![("control", AnswerClass::Allow), ("http", AnswerClass::Started), ("dual", AnswerClass::Ok)],
                vec!["/http"],
            ),
            false => (
                vec![("control", AnswerClass::Allow), ("dual", AnswerClass::Started), ("http", AnswerClass::Started)],
                vec!["/dual", "/http"],
            ),
        };
        assert_eq!(asked, expected, "{way:?}");
        let paths: Vec<_> = server.wait_for(told.len() + 1).into_iter().map(|seen| seen.path).collect();
        assert_eq!(paths[0], "/control");
        // What nobody waits for may arrive in any order.
        let mut observers = paths[1..].to_vec();
        observers.sort();
        assert_eq!(observers, told, "{way:?}");
    }
}

/// A directory that never answers, and says when it was asked.
#[derive(Debug)]
struct Silent(tokio::sync::mpsc::UnboundedSender<()>);

impl UserDirectory for Silent {
    fn email(&self, _: &str) -> BoxFuture<'static, Result<Option<String>, HookError>> {
        self.0.send(()).unwrap();
        pending().boxed()
    }
}

#[tokio::test]
async fn h11_an_abort_during_the_address_look_up_sends_nothing() {
    for way in WAYS {
        let server = Server::always(Reply::allow());
        let (asked, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let carriers = Carriers { webhook: Some(Arc::new(carrier(&Vars::default()))), ..Carriers::default() };
        let clock = Arc::new(Clock(Instant::now()));
        let directory = Arc::new(Silent(asked));
        let dispatcher =
            HookDispatcher::with_ports(HookPorts { mode: way.mode, carriers, directory, ..HookPorts::new(clock) });
        let hooks = Hooks::new().webhook("c", HookKind::BeforeToolCall, control(&server.url("/"), json!({})));
        let rounds = if way.is_cold {
            let first = super::dispatcher(way.mode, &Vars::default());
            first.register(&"op_1".into(), hooks).unwrap();
            Rounds::of("op_1").with_stored("op_1", first.serialized(&"op_1".into()).unwrap())
        } else {
            dispatcher.register(&"op_1".into(), hooks).unwrap();
            Rounds::of("op_1")
        };
        let handle = dispatcher.handle(&rounds);
        let asking = tokio::spawn(async move { before(&handle).await.1 });
        hears.recv().await.unwrap();
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        assert!(server.seen().is_empty(), "{way:?}");
    }
}
