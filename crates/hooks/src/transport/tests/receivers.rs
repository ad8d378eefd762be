//! Receivers that misbehave, told and asked, in every mode, live and restored.

use super::*;

/// How a receiver behaves, what that is for a notification, and what for a question.
type Row = (&'static str, Reply, Option<FaultCode>, Result<AnswerClass, FaultCode>);

fn rows() -> Vec<Row> {
    use FaultCode::{HttpError, InvalidResponse, NetworkError, ResponseTooLarge, Timeout};
    let allow = br#"{"decision":"allow"}"#;
    let nested = br#"{"hookSpecificOutput":{"permissionDecision":"deny"},"output":{"decision":"deny"}}"#;
    let slow = [b" ".repeat(2_000).as_slice(), allow].concat();
    let large = [b" ".repeat(100_000).as_slice(), allow].concat();
    let inside = || "http://127.0.0.1:9/".to_owned();
    vec![
        ("hangs", Reply::Hang, Some(Timeout), Err(Timeout)),
        ("drips", Reply::Drip(slow), None, Err(Timeout)),
        ("closes at once", Reply::Close, Some(NetworkError), Err(NetworkError)),
        ("closes early", Reply::Cut(allow.to_vec()), None, Err(NetworkError)),
        ("500", Reply::Full(500, allow.to_vec()), Some(HttpError), Err(HttpError)),
        ("503", Reply::Full(503, allow.to_vec()), Some(HttpError), Err(HttpError)),
        ("404", Reply::Full(404, allow.to_vec()), Some(HttpError), Err(HttpError)),
        ("302", Reply::Redirect(302, inside()), Some(HttpError), Err(HttpError)),
        ("307", Reply::Redirect(307, inside()), Some(HttpError), Err(HttpError)),
        ("100 kB", Reply::ok(large), None, Err(ResponseTooLarge)),
        ("no UTF-8", Reply::ok(b"{\"decision\":\"allow\xff\"}"), None, Err(InvalidResponse)),
        ("another format", Reply::ok(nested), None, Ok(AnswerClass::Notification)),
        ("the decision in a list", Reply::ok(br#"[{"decision":"deny"}]"#), None, Ok(AnswerClass::Notification)),
        ("half an object", Reply::ok(br#"{"decision":"de"#), None, Ok(AnswerClass::Notification)),
    ]
}

/// In seconds: as short as can be where it is to pass, else long enough for a loaded machine.
fn deadline(passes: bool) -> f64 {
    if passes { 0.1 } else { 20.0 }
}

#[tokio::test]
async fn a_receiver_that_misbehaves_is_what_the_table_says_when_it_is_told() {
    for way in WAYS {
        for (what, reply, told, _) in rows() {
            let (server, next) = (Server::always(reply), Server::always(Reply::ok("")));
            let hook = config(json!({"url": server.url("/"), "timeout": deadline(told == Some(FaultCode::Timeout))}));
            let hooks = Hooks::new().webhook("odd", HookKind::OnComplete, hook).webhook(
                "next",
                HookKind::OnComplete,
                WebhookConfig::new(next.url("/")),
            );
            let delivery = fire(&handle(way, &Vars::default(), hooks), HookKind::OnComplete).await;
            let fault = delivery.receipts[0].fault;
            assert_eq!(fault, told, "{what} {way:?}");
            assert!(delivery.surface().is_ok(), "{what} {way:?}");
            assert_eq!((server.seen().len(), next.seen().len()), (1, 1), "{what} {way:?}");
        }
    }
}

#[tokio::test]
async fn a_receiver_that_misbehaves_is_what_the_table_says_when_it_is_asked() {
    for way in WAYS {
        for (what, reply, _, asked) in rows() {
            for on_error in ["continue", "block"] {
                let server = Server::always(reply.clone());
                let timeout = deadline(asked == Err(FaultCode::Timeout));
                let hook = control(&server.url("/"), json!({"onError": on_error, "timeout": timeout}));
                let answers = judge_twice(way, hook).await;
                let denial = (on_error == "block" && asked.is_err()).then(|| CONTROL_ERROR_REASON.to_owned());
                assert_eq!(answers, [(denial.clone(), asked), (denial, asked)], "{what} {way:?}");
                assert_eq!(server.seen().len(), 2, "{what} {way:?}");
            }
        }
    }
}

/// The reason of the denial, if it is one, and how the answer was taken.
type Answer = (Option<String>, Result<AnswerClass, FaultCode>);

/// Asks a control about a call and about a result.
async fn judge_twice(way: Way, hook: WebhookConfig) -> [Answer; 2] {
    let hooks = Hooks::new().webhook("b", HookKind::BeforeToolCall, hook.clone());
    let handle = handle(way, &Vars::default(), hooks.webhook("a", HookKind::AfterToolCall, hook));
    let class = |delivery: Delivery| {
        let [receipt] = delivery.receipts.try_into().unwrap();
        receipt.fault.map_or(Ok(receipt.answer), Err)
    };
    let (ruling, call) = before(&handle).await;
    let (kept, result) = after(&handle, ToolRunResult::ok("raw")).await;
    let text = |reason: Option<Option<&str>>| reason.flatten().map(str::to_owned);
    [(text(denial(&ruling)), class(call)), (text(withheld(&kept)), class(result))]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_down_for_a_whole_run_costs_only_its_deadlines() {
    let deadline = Duration::from_millis(50);
    for way in WAYS {
        let hung = Server::always(Reply::Hang);
        let told = config(json!({"url": hung.url("/"), "timeout": deadline.as_secs_f64()}));
        let hooks = HookKind::ALL
            .into_iter()
            .fold(Hooks::new(), |hooks, kind| Hooks::from(hooks.webhook("down", kind, told.clone())));
        let handle = handle(way, &Vars::default(), hooks);
        let (started, mut awaited) = (Instant::now(), 0);
        for kind in HookKind::ALL {
            // Nobody waits for an observer of a call that is about to run.
            if kind == HookKind::BeforeToolCall {
                let (ruling, delivery) = before(&handle).await;
                assert_eq!((denial(&ruling), delivery.receipts[0].answer), (None, AnswerClass::Started));
            } else {
                let delivery = fire(&handle, kind).await;
                assert_eq!(delivery.receipts[0].answer, AnswerClass::Timeout, "{kind} {way:?}");
                awaited += 1;
            }
        }
        let (taken, least) = (started.elapsed(), deadline * awaited);
        // Far from the thirty seconds that a hook without a deadline of its own would have.
        assert!(taken >= least && taken < least + Duration::from_secs(8), "{taken:?} for {awaited} deadlines, {way:?}");
        assert_eq!(hung.wait_for(16).len(), 16);
    }
}
