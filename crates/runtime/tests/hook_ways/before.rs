//! Before a call.

use jackline_hooks::{CONTROL_ERROR_REASON, HookKind, Hooks, OnError, WebhookConfig};
use jackline_model::{Origin, Status, ToolRunResult};
use jackline_runtime::drive::{Agent, Decided, Prompt};
use serde_json::json;

use super::{Play, Played, TOOLS, WAYS, before, denial, denies, judge, notice};
use crate::stage::{Prop, agent, approved, asks, did, pairs};

fn blocking(url: &str) -> WebhookConfig {
    WebhookConfig { on_error: OnError::Block, ..judge(url) }
}

/// Observers of all that may come of a call.
fn observed() -> Hooks {
    let hooks =
        Hooks::new().webhook("before", HookKind::BeforeToolCall, notice("http://x.test/before")).matching(TOOLS);
    let hooks = hooks.webhook("after", HookKind::AfterToolCall, notice("http://x.test/after")).matching(TOOLS);
    hooks.webhook("error", HookKind::OnToolCallError, notice("http://x.test/error")).into()
}

#[tokio::test]
async fn h01_h02_h21_a_denial_stands_in_row_result_and_notice_and_the_run_goes_on() {
    let default = "Blocked by beforeToolCall hook.";
    let answers = [
        (Some(r#"{"decision":"deny"}"#.to_owned()), default, false),
        (Some(denial("")), default, false),
        (Some(denial("no \"looking\"\n")), "no \"looking\"\n", false),
        (None, CONTROL_ERROR_REASON, true),
    ];
    for way in WAYS {
        for (answer, reason, fails) in answers.clone() {
            for calls in [&[("a", "look", "{}")][..], &[("a", "look", "{}"), ("b", "look", "{}")]] {
                let (hooks, answer) = (before(observed(), "policy", blocking("http://policy.test/")), answer.clone());
                let played = Play::new(way, [Prop::plain("look")])
                    .with_rule(hooks, [asks(calls)], |receiver, _| receiver.answer_by(move |_| answer.clone()))
                    .await;
                assert_denied(&played, calls.len(), reason, fails);
            }
        }
    }
}

/// None of so many calls ran, for this reason, and everything says so.
fn assert_denied(played: &Played, calls: usize, reason: &str, fails: bool) {
    let what = format!("{:?} {reason} {calls}", played.way);
    assert_eq!((played.report.status, played.stage.notes().len()), (Status::Done, 0), "{what}");
    let (rows, ends) = (played.stage.rows(played.run.id()).split_off(1), played.stage.ends());
    let ends = &ends[ends.len() - calls..];
    assert_eq!(rows.len(), calls, "{what}");
    for (row, end) in rows.iter().zip(ends) {
        assert_eq!((row.content.as_str(), &row.error), (reason, &Some(json!("hook_denied"))), "{what}");
        assert_eq!(row.state, Some(json!({"type": "blocked", "reason": reason})), "{what}");
        let denied = Decided::Denied { hook: "policy".to_owned(), after: false, failure: fails };
        assert_eq!((&end.decision, end.result.content.as_str()), (&denied, reason), "{what}");
    }
    // Neither call nor error is told of; the blocked result is.
    assert!(played.told("http://x.test/before").is_empty() && played.told("http://x.test/error").is_empty(), "{what}");
    let told = played.told("http://x.test/after");
    assert_eq!(told.len(), calls, "{what}");
    assert_eq!((&told[0]["mocked"], &told[0]["result"]["error"]), (&json!(false), &json!("hook_denied")), "{what}");
    assert_eq!(told[0]["result"]["content"], reason, "{what}");
    assert_eq!(played.receiver.urls().len(), calls, "one request a call: {what}");
}

#[tokio::test]
async fn h03_h04_a_call_is_shown_once_a_person_has_agreed_and_its_denial_settles_the_row_it_has() {
    for way in WAYS {
        for ids in [&["a"][..], &["a", "b"]] {
            let calls: Vec<_> = ids.iter().map(|id| (*id, "ask", "{}")).collect();
            let hooks = before(Hooks::new(), "policy", judge("http://policy.test/"));
            let played = Play::new(way, [Prop::plain("ask").asking()])
                .with_rule(hooks, [asks(&calls)], |receiver, _| {
                    receiver.answer_by(denies("a", "not that one", None));
                })
                .await;
            assert_eq!(played.report.status, Status::WaitingForHuman, "{way:?}");
            assert!(played.receiver.urls().is_empty(), "nobody is asked before the person: {way:?}");
            let report = played.stage.decide(&played.run, approved(ids)).await;
            assert_eq!((report.status, played.receiver.urls().len()), (Status::Done, ids.len()), "{way:?}");
            let rows = played.stage.rows(played.run.id()).split_off(1);
            assert_eq!((rows.len(), rows[0].content.as_str()), (ids.len(), "not that one"), "{way:?}");
            assert_eq!(rows[0].state.as_ref().unwrap()["type"], "blocked");
            assert!(rows[1..].iter().all(|row| row.success), "{way:?}");
        }
    }
}

#[tokio::test]
async fn h05_a_call_off_the_list_is_refused_without_asking_anybody() {
    for way in WAYS {
        let listed = Agent { tools: Some(vec!["test/wait".to_owned()]), ..agent() };
        let hooks = before(Hooks::new(), "policy", judge("http://allow.test/"));
        let played =
            Play::new(way, [Prop::plain("look")]).with_agent(listed).of(hooks, [asks(&[("a", "look", "{}")])]).await;
        let classes = played.stage.classes(played.run.id());
        assert_eq!(classes[1], ("a".to_owned(), "tool_not_allowed".to_owned()), "{way:?}");
        assert!(played.receiver.urls().is_empty() && played.stage.notes().is_empty(), "{way:?}");
    }
}

#[tokio::test]
async fn h06_controls_are_asked_in_order_up_to_the_first_denial_and_shown_the_arguments() {
    for way in WAYS {
        let hooks = before(observed(), "first", judge("http://allow.test/1"));
        let hooks = before(hooks, "second", judge("http://deny.test/2"));
        let hooks = before(hooks, "third", judge("http://allow.test/3"));
        let played = Play::new(way, [Prop::plain("look")]).of(hooks, [asks(&[("a", "look", r#"{"at":"x"}"#)])]).await;
        assert_eq!(played.receiver.urls(), ["http://allow.test/1", "http://deny.test/2"], "{way:?}");
        assert_eq!(played.texts(), pairs(&[("a", "not this")]));
        assert!(played.told("http://x.test/before").is_empty(), "{way:?}");
        for payload in played.receiver.payloads() {
            assert_eq!(payload["args"], json!({"at": "x"}));
            assert!(!payload.contains_key("originalArgs") && !payload.contains_key("mock"));
        }
    }
}

#[tokio::test]
async fn h07_in_an_ordered_lane_a_denial_in_the_middle_lets_the_others_run_in_turn() {
    let calls = [("1", "look", "{}"), ("2", "look", "{}"), ("3", "look", "{}")];
    for way in WAYS {
        let hooks = before(Hooks::new(), "control", judge("http://policy.test/"));
        let played = Play::new(way, [Prop::plain("look").with(|spec| spec.ordered = true)])
            .with_rule(hooks, [asks(&calls)], |receiver, stage| {
                receiver.answer_by(denies("2", "no", Some((stage, "control"))));
            })
            .await;
        assert_eq!(played.stage.notes(), ["control 1", "run 1", "control 2", "control 3", "run 3"], "{way:?}");
        assert_eq!(played.texts(), pairs(&[("1", "did 1"), ("2", "no"), ("3", "did 3")]));
        // Three model calls, and the tools that ran: the client's and two of the three.
        assert_eq!(played.report.totals.cost.0 % 1_000, 3 * 7, "{way:?}");
    }
}

#[tokio::test]
async fn h09_a_tools_own_retry_asks_once() {
    for way in WAYS {
        let prop = Prop::new("look", |called| async move {
            called.note("try");
            let retry = ToolRunResult { error: Some(json!({"kind": "retry"})), ..ToolRunResult::failed("again") };
            if called.attempt == 1 { Ok(retry.into()) } else { did("fine") }
        });
        let hooks = before(observed(), "control", judge("http://allow.test/"));
        let played = Play::new(way, [prop]).of(hooks, [asks(&[("a", "look", "{}")])]).await;
        assert_eq!((played.stage.notes(), played.receiver.urls().len()), (vec!["try a".to_owned(); 2], 1), "{way:?}");
        assert_eq!(played.told("http://x.test/before").len(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn h14_a_control_that_hangs_in_one_lane_does_not_hold_up_another() {
    for way in WAYS {
        let hooks = before(Hooks::new(), "policy", judge("http://allow.test/"));
        let calls = [("a", "look", "{}"), ("b", "stop", "{}")];
        // The call that is not held up ends the run: it could not, if it waited for the other.
        let stops = Prop::new("stop", |called| async move {
            called.note("run");
            called.stop();
            did("stopped")
        });
        let played = Play::new(way, [Prop::plain("look"), stops])
            .with_rule(hooks, [asks(&calls)], |receiver, _| {
                receiver.hold(|asked| asked.payload["toolCallId"] == "a", || {});
            })
            .await;
        assert_eq!(played.stage.notes(), ["run b"], "{way:?}");
        assert_eq!(played.report.status, Status::Interrupted, "{way:?}");
    }
}

#[tokio::test]
async fn h15_h16_in_a_mixed_batch_a_denied_call_is_settled_and_the_clients_waits_alone() {
    let calls = [("a", "client", "{}"), ("b", "client", "{}"), ("c", "look", "{}")];
    for way in WAYS {
        let hooks = before(Hooks::new(), "policy", judge("http://policy.test/"));
        let played = Play::new(way, [Prop::client("client"), Prop::plain("look")])
            .with_rule(hooks, [asks(&calls)], |receiver, _| receiver.answer_by(denies("a", "not you", None)))
            .await;
        assert_eq!(played.report.status, Status::WaitingForAsyncTool, "{way:?}");
        assert_eq!(played.texts(), pairs(&[("a", "not you"), ("c", "did c")]), "{way:?}");
        assert_eq!(played.stage.parked().last().map(String::as_str), Some("b"), "dispatched once, alone: {way:?}");
        let (run, result) = (&played.run, ToolRunResult::ok("late"));
        assert!(played.stage.runtime.complete_call(run.id(), &"a".into(), &result).is_err(), "{way:?}");
        played.stage.complete(run, "b", &ToolRunResult::ok("from the client")).await;
        assert_eq!(played.texts(), pairs(&[("a", "not you"), ("b", "from the client"), ("c", "did c")]));
        assert_eq!((played.receiver.urls().len(), played.stage.notes()), (3, vec!["run c".to_owned()]), "{way:?}");
    }
}

#[tokio::test]
async fn h20_the_runtimes_user_counts_and_not_one_in_the_arguments() {
    for way in WAYS {
        let play = Play::new(way, [Prop::plain("look")]);
        let hooks = before(observed(), "policy", judge("http://allow.test/"));
        let origin = Origin { user_id: Some("visitor".into()), ..Origin::default() };
        let prompt = Prompt { user: Some("ann".into()), origin, ..Prompt::from("go") };
        let played = play.started_by(prompt).of(hooks, [asks(&[("a", "look", r#"{"userId":"mallory"}"#)])]).await;
        assert_eq!(played.receiver.payloads()[0]["userId"], "ann", "{way:?}");
        for url in ["http://x.test/before", "http://x.test/after"] {
            assert_eq!(played.told(url)[0]["userId"], "ann", "{way:?}");
        }
    }
}
