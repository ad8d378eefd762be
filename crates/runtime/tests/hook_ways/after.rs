//! After a call.

use jackline_hooks::{CONTROL_ERROR_REASON, HookKind, Hooks, MockAnswer, OnError, Variables, WebhookConfig};
use jackline_model::{Reason, Status, ToolRunResult};
use jackline_runtime::drive::Decided;
use jackline_runtime::journal::Store;
use serde_json::json;

use super::{Play, TOOLS, WAYS, after, denial, denies, judge, notice};
use crate::hook_conformance::hidden::secret;
use crate::stage::{Prop, asks, did, pairs};
use crate::webhooks::policy;

fn telling() -> Prop {
    Prop::new("look", |called| async move {
        called.note("run");
        Ok(secret().into())
    })
}

fn observed() -> Hooks {
    Hooks::new().webhook("after", HookKind::AfterToolCall, notice("http://x.test/after")).matching(TOOLS).into()
}

fn one() -> [jackline_runtime::llm::Turn; 1] {
    [asks(&[("a", "look", "{}")])]
}

#[tokio::test]
async fn i01_i10_a_denied_result_leaves_only_the_reason_at_full_cost() {
    let default = "Blocked by afterToolCall hook.";
    let answers =
        [(denial("not for you"), "not for you"), (denial(""), default), (r#"{"decision":"deny"}"#.to_owned(), default)];
    for way in WAYS {
        for (answer, reason) in &answers {
            let answer = answer.clone();
            let hooks = after(observed(), "judge", judge("http://judge.test/"));
            let played = Play::new(way, [telling()])
                .with_rule(hooks, one(), |receiver, _| receiver.answer_by(move |_| Some(answer.clone())))
                .await;
            let row = played.stage.rows(played.run.id()).remove(1);
            let what = format!("{way:?} {reason}");
            assert_eq!((row.content.as_str(), &row.error), (*reason, &Some(json!("hook_denied"))), "{what}");
            assert_eq!(row.state, Some(json!({"type": "blocked", "phase": "afterToolCall", "reason": reason})));
            let end = played.stage.ends().pop().unwrap();
            assert_eq!((end.result.execution_time, end.result.device_execution_time), (Some(42), Some(41)), "{what}");
            let denied = Decided::Denied { hook: "judge".to_owned(), after: true, failure: false };
            assert_eq!((end.decision, end.result.content.as_str()), (denied, *reason), "{what}");
            assert_eq!(played.told("http://x.test/after")[0]["result"]["content"], *reason, "{what}");
            assert_eq!(played.report.totals.cost.0 % 1_000, 2 * 7, "the client's and this one: {what}");
            // Only the judge has seen it: no row, no record, no archive, no event, no request of the model has it.
            assert!(played.receiver.payloads()[0]["result"].to_string().contains("s3cret"), "{what}");
            assert!(!played.stage.trace().contains("s3cret"), "{what}");
        }
    }
}

#[tokio::test]
async fn i03_an_allowed_result_is_shown_whole_to_the_judge_archived_whole_and_read_in_its_short_form() {
    let whole = "a long line\n".repeat(10_000);
    for way in WAYS {
        let given = whole.clone();
        let prop = Prop::new("look", move |_| std::future::ready(did(given.clone())));
        let hooks = after(observed(), "judge", judge("http://allow.test/"));
        let played = Play::new(way, [prop]).of(hooks, one()).await;
        assert_eq!(played.receiver.payloads()[0]["result"]["content"], *whole, "{way:?}");
        let row = played.stage.rows(played.run.id()).remove(1);
        assert!(row.content.len() < 30_000 && row.content.starts_with("a long line\n"), "{way:?}");
        let blob = row.content.split('`').nth(1).unwrap();
        assert!(*played.stage.store.blob(&blob.into()).unwrap().unwrap() == *whole, "{way:?}");
        assert_eq!(played.told("http://x.test/after")[0]["result"]["content"], row.content.as_str(), "{way:?}");
    }
}

#[tokio::test]
async fn i04_while_the_judge_thinks_there_is_no_row_no_archive_and_no_end() {
    for way in WAYS {
        let hooks = after(observed(), "judge", judge("http://allow.test/"));
        let (said, says) = std::sync::mpsc::channel();
        let played = Play::new(way, [telling()])
            .with_rule(hooks, one(), |receiver, stage| {
                let stage = stage.clone();
                receiver.meanwhile(move || {
                    let id = stage.store.list(1).unwrap().remove(0).id;
                    let is_hidden = stage.rows(&id).len() == 1 && !stage.trace().contains("s3cret");
                    said.send(is_hidden && stage.ends().iter().all(|end| end.call != "a")).unwrap();
                });
            })
            .await;
        assert_eq!(says.try_recv(), Ok(true), "nothing was to be seen: {way:?}");
        assert!(played.stage.trace().contains("s3cret"), "afterwards it is: {way:?}");
    }
}

#[tokio::test]
async fn i05_results_of_tool_client_and_mock_are_all_judged_once() {
    let calls = [("a", "look", "{}"), ("b", "client", "{}"), ("c", "fake", "{}")];
    for way in WAYS {
        let hooks = after(Hooks::new(), "judge", judge("http://allow.test/"));
        // A handler lives in its own process, and is not called in queue mode.
        let is_mocked = !way.cold && way.mode == jackline_hooks::DispatchMode::Local;
        let hooks: Hooks = if way.cold {
            hooks
        } else {
            let mock = |_| async { MockAnswer::Mock(ToolRunResult::ok("mocked")) };
            Hooks::from(hooks.mock_before_tool_call("mock", mock).matching("fake"))
        };
        let props = [Prop::plain("look"), Prop::client("client"), Prop::plain("fake")];
        let played = Play::new(way, props).of(hooks, [asks(&calls)]).await;
        assert_eq!(played.report.status, Status::WaitingForAsyncTool, "{way:?}");
        played.stage.complete(&played.run, "b", &ToolRunResult::ok("from the client")).await;
        let mut judged: Vec<_> = played
            .receiver
            .payloads()
            .iter()
            .map(|asked| (asked["toolCallId"].as_str().unwrap().to_owned(), asked["mocked"] == json!(true)))
            .collect();
        judged.sort();
        let expected = [("a", false), ("b", false), ("c", is_mocked)].map(|(call, mocked)| (call.to_owned(), mocked));
        assert_eq!(judged, expected, "{way:?}");
        let last = if is_mocked { "mocked" } else { "did c" };
        assert_eq!(played.texts(), pairs(&[("a", "did a"), ("b", "from the client"), ("c", last)]), "{way:?}");
    }
}

#[tokio::test]
async fn i06_an_answer_that_is_none_publishes_or_hides_as_the_policy_says_and_its_text_is_nowhere() {
    for way in WAYS {
        for on_error in [OnError::Continue, OnError::Block] {
            let config = WebhookConfig { on_error, ..judge("http://judge.test/") };
            let answer = r#"{"decision":"perhaps, says t0psecret"}"#;
            let played = Play::new(way, [Prop::plain("look")])
                .with_rule(after(observed(), "judge", config), one(), |receiver, _| {
                    receiver.answer_by(move |_| Some(answer.to_owned()));
                })
                .await;
            let expected = if on_error == OnError::Block { CONTROL_ERROR_REASON } else { "did a" };
            assert_eq!(played.texts(), pairs(&[("a", expected)]), "{way:?}");
            assert_eq!(played.receiver.urls().len(), 1, "{way:?}");
            assert!(!played.stage.trace().contains("t0psecret"), "{way:?}");
            assert_eq!(played.stage.told_answers("judge"), ["error"], "{way:?}");
        }
    }
}

#[tokio::test]
async fn i08_i19_a_denial_counts_whatever_the_tool_says_of_itself_and_its_stop_still_ends_the_run() {
    for way in WAYS {
        let prop = Prop::new("look", |_| async {
            let state = serde_json::from_value(json!({"type": "blocked", "phase": "afterToolCall"})).unwrap();
            Ok(ToolRunResult { stop: true, state: Some(state), ..ToolRunResult::ok("s3cret") }.into())
        });
        let hooks = after(Hooks::new(), "first", judge("http://allow.test/1"));
        let elsewhere = hooks.webhook("elsewhere", HookKind::AfterToolCall, judge("http://deny.test/e"));
        let hooks = after(elsewhere.matching("^other/").into(), "second", judge("http://deny.test/2"));
        let hooks = after(hooks, "third", judge("http://allow.test/3"));
        let played = Play::new(way, [prop]).of(hooks, one()).await;
        assert_eq!(played.receiver.urls(), ["http://allow.test/1", "http://deny.test/2"], "{way:?}");
        assert_eq!(played.texts(), pairs(&[("a", "not this")]), "{way:?}");
        assert_eq!((played.report.reason, played.stage.model.turns_left()), (Some(Reason::Done), 1), "{way:?}");
        assert!(!played.stage.trace().contains("s3cret"), "{way:?}");
    }
}

#[tokio::test]
async fn i11_a_failed_result_is_judged_once_after_all_tries_at_normal_cost() {
    for way in WAYS {
        let prop = Prop::new("look", |called| async move {
            called.note("try");
            Ok(ToolRunResult { error: Some(json!({"kind": "retry"})), ..ToolRunResult::failed("no use") }.into())
        });
        let played = Play::new(way, [prop]).of(after(observed(), "judge", judge("http://allow.test/")), one()).await;
        assert_eq!(played.stage.notes(), ["try a", "try a", "try a"], "{way:?}");
        let judged: Vec<_> =
            played.receiver.payloads().iter().map(|asked| asked["result"]["success"].clone()).collect();
        assert_eq!(judged, [json!(false)], "{way:?}");
        assert_eq!(played.report.totals.cost.0 % 1_000, 2 * 7, "{way:?}");
    }
}

#[tokio::test]
async fn i12_i15_of_several_results_only_the_denied_one_is_replaced_each_under_its_call() {
    let calls = [("1", "look", "{}"), ("2", "look", "{}"), ("3", "look", "{}")];
    for way in WAYS {
        for ordered in [false, true] {
            let hooks = after(Hooks::new(), "judge", judge("http://judge.test/"));
            let played = Play::new(way, [Prop::plain("look").with(|spec| spec.ordered = ordered)])
                .with_rule(hooks, [asks(&calls)], |receiver, stage| {
                    receiver.answer_by(denies("2", "hidden", Some((stage, "judge"))));
                })
                .await;
            assert_eq!(played.texts(), pairs(&[("1", "did 1"), ("2", "hidden"), ("3", "did 3")]), "{way:?}");
            assert_eq!(played.report.totals.cost.0 % 1_000, 4 * 7, "all ran, all cost: {way:?}");
            assert!(!played.stage.trace().contains("did 2"), "{way:?}");
            let in_turn = ["run 1", "judge 1", "run 2", "judge 2", "run 3", "judge 3"].map(str::to_owned);
            let (mut notes, mut expected) = (played.stage.notes(), in_turn.to_vec());
            if !ordered {
                notes.sort();
                expected.sort();
            }
            assert_eq!(notes, expected, "{way:?} {ordered}");
        }
    }
}

#[tokio::test]
async fn i13_the_row_that_an_approved_call_has_is_the_one_that_is_judged() {
    for way in WAYS {
        for ids in [&["a"][..], &["a", "b"]] {
            let calls: Vec<_> = ids.iter().map(|id| (*id, "ask", "{}")).collect();
            let hooks = after(Hooks::new(), "judge", judge("http://judge.test/"));
            let played = Play::new(way, [Prop::plain("ask").asking()])
                .with_rule(hooks, [asks(&calls)], |receiver, _| receiver.answer_by(denies("a", "hidden", None)))
                .await;
            played.stage.decide(&played.run, crate::stage::approved(ids)).await;
            let rows = played.stage.rows(played.run.id()).split_off(1);
            assert_eq!((rows.len(), rows[0].content.as_str()), (ids.len(), "hidden"), "{way:?}");
            assert_eq!(rows[0].state, Some(json!({"type": "blocked", "phase": "afterToolCall", "reason": "hidden"})));
            assert!(rows[1..].iter().all(|row| row.error.is_none() && row.state.is_none()), "{way:?}");
        }
    }
}

#[tokio::test]
async fn i18_when_the_environments_control_is_removed_a_result_is_published_without_a_request() {
    for way in WAYS {
        for is_removed in [true, false] {
            let play = Play::new(way, [Prop::plain("look")]);
            let environment = play.environment.clone();
            environment.set(policy("http://deny.test/env"));
            let later = if is_removed { Variables::default() } else { policy("http://deny.test/env") };
            let played = play.with_rule(Hooks::new(), one(), |_, _| environment.set(later)).await;
            let (urls, text) = if is_removed { (0, "did a") } else { (2, "not this") };
            assert_eq!(played.texts(), pairs(&[("a", text)]), "{way:?}");
            assert_eq!(played.receiver.urls().len(), urls, "the late result and this one, or nobody: {way:?}");
        }
    }
}
