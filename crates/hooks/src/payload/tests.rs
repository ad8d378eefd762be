//! The payload builder and the addresses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::*;
use crate::dispatch::tests::TestClock;
use crate::event::tests::one_of_each;
use crate::{HookError, HookKind, WebhookConfig};

fn config(event_fields: Option<&[&str]>, body: Option<Value>) -> WebhookConfig {
    WebhookConfig {
        event_fields: event_fields.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
        body: body.map(|body| body.as_object().unwrap().clone()),
        ..WebhookConfig::new("/hook")
    }
}

fn draft(event: &Value, kind: HookKind, config: &WebhookConfig) -> Draft {
    let purpose = if config.is_control() { Purpose::Control } else { Purpose::Notify };
    build_payload(event.as_object().unwrap(), &"h".into(), kind, purpose, Some(config))
}

fn sent(event: &Value, config: &WebhookConfig) -> Value {
    json!(draft(event, HookKind::OnComplete, config).complete(Some("found@example.test".to_owned())))
}

fn end() -> Value {
    json!({
        "operationId": "op_1", "userId": "user_1", "reason": "done", "topicId": "tpc_1", "errorMessage": "",
        "errorDetail": {"a": 1}, "lastAssistantContent": "Finished.", "finalState": {"secret": 1}, "mock": true,
        "userEmail": "stale@example.test"
    })
}

#[test]
fn f01_the_body_is_merged() {
    let payload = sent(&end(), &config(None, Some(json!({"team": "a", "reason": "other", "hookType": "mine"}))));
    assert_eq!(
        (&payload["team"], &payload["reason"], &payload["hookType"]),
        (&json!("a"), &json!("other"), &json!("mine"))
    );
    assert_eq!(payload["hookId"], "h");
}

#[test]
fn f02_a_selection_sends_exactly_what_it_names() {
    let selected = config(Some(&["errorMessage", "reason", "topicId", "unknown"]), Some(json!({"x": 1})));
    assert_eq!(
        sent(&end(), &selected),
        json!({"errorMessage": "", "reason": "done", "topicId": "tpc_1", "hookId": "h", "hookType": "onComplete", "x": 1})
    );
    assert_eq!(sent(&end(), &config(Some(&[]), None)), json!({"hookId": "h", "hookType": "onComplete"}));
}

#[test]
fn f03_every_event_gets_the_address_of_its_user_and_stays_as_it_was() {
    for event in one_of_each() {
        let mut before = event.to_json();
        if before.get("userId").is_none() {
            before["userId"] = json!("user_1");
        }
        let kept = before.clone();
        let draft = draft(&before, event.kind(), &config(None, None));
        assert_eq!(draft.user(), before["userId"].as_str(), "{}", event.kind());
        assert!(draft.user().is_some(), "{}", event.kind());
        let payload = draft.complete(Some("u@example.test".to_owned()));
        assert_eq!(payload["userEmail"], "u@example.test");
        assert_eq!(before, kept);
    }
}

#[test]
fn f04_the_body_decides_whose_address_it_is() {
    let other = config(None, Some(json!({"userId": "user_2", "userEmail": "forged@example.test"})));
    let draft = draft(&end(), HookKind::OnComplete, &other);
    assert_eq!(draft.user(), Some("user_2"));
    assert_eq!(draft.complete(Some("two@example.test".to_owned()))["userEmail"], "two@example.test");
}

#[test]
fn f05_without_an_address_the_field_is_absent() {
    for email in [None, Some(String::new())] {
        let payload = draft(&end(), HookKind::OnComplete, &config(None, None)).complete(email);
        assert_eq!(payload.get("userEmail"), None);
    }
}

#[test]
fn f07_a_selection_without_the_address_asks_nobody() {
    let user =
        |fields: &[&str]| draft(&end(), HookKind::OnComplete, &config(Some(fields), None)).user().map(str::to_owned);
    assert_eq!(user(&["userId"]), None);
    assert_eq!(user(&["userEmail"]).as_deref(), Some("user_1"));
    let payload = sent(&end(), &config(Some(&["userEmail"]), None));
    assert_eq!(payload, json!({"hookId": "h", "hookType": "onComplete", "userEmail": "found@example.test"}));
}

#[test]
fn f08_a_body_that_names_nobody_asks_nobody() {
    for nobody in [json!(null), json!(""), json!(7), json!([])] {
        let draft = draft(&end(), HookKind::OnComplete, &config(None, Some(json!({"userId": nobody}))));
        assert_eq!(draft.user(), None);
    }
}

#[test]
fn f09_an_address_that_somebody_supplied_is_dropped() {
    let payload = draft(&end(), HookKind::OnComplete, &config(None, Some(json!({"userEmail": "b@example.test"}))));
    assert_eq!(payload.complete(None).get("userEmail"), None);
}

fn skill(kind: &str) -> Value {
    json!({"userId": "u", "result": {"content": "c", "success": true, "workRegistration": {"type": kind, "args": {"a": 1}, "data": {"b": 2}, "id": "w"}}})
}

#[test]
fn f15_what_a_skill_registered_is_trimmed_in_notifications() {
    let event = skill("skill");
    for config in [config(None, None), config(Some(&["result"]), None)] {
        let payload = draft(&event, HookKind::AfterToolCall, &config).complete(None);
        assert_eq!(payload["result"]["workRegistration"], json!({"type": "skill", "data": null, "id": "w"}));
    }
    assert_eq!(event, skill("skill"));
}

#[test]
fn f16_other_registrations_stay() {
    let payload = draft(&skill("task"), HookKind::AfterToolCall, &config(None, None)).complete(None);
    assert_eq!(payload["result"], skill("task")["result"]);
}

#[test]
fn f17_a_control_sees_the_whole_result() {
    let control = WebhookConfig::control("/hook");
    let payload = draft(&skill("skill"), HookKind::AfterToolCall, &control).complete(None);
    assert_eq!(payload["result"], skill("skill")["result"]);
}

#[test]
fn f20_the_state_of_the_run_is_never_sent() {
    let named = config(Some(&["finalState", "mock", "reason"]), Some(json!({"finalState": 1, "mock": 2})));
    let payload = sent(&end(), &named);
    assert_eq!((payload.get("finalState"), payload.get("mock")), (None, None));
}

/// A directory that counts, and answers from a list, late, or not at all.
#[derive(Debug, Default)]
struct Directory {
    answers: Mutex<BTreeMap<String, Option<String>>>,
    late: Mutex<Option<oneshot::Receiver<String>>>,
    queries: AtomicUsize,
}

impl Directory {
    fn with(user: &str, email: &str) -> Arc<Self> {
        let directory = Arc::<Self>::default();
        directory.set(user, Some(email));
        directory
    }

    fn set(&self, user: &str, email: Option<&str>) {
        self.answers.lock().unwrap().insert(user.to_owned(), email.map(str::to_owned));
    }

    fn queries(&self) -> usize {
        self.queries.load(Ordering::SeqCst)
    }
}

impl UserDirectory for Directory {
    fn email(&self, user: &str) -> BoxFuture<'static, Result<Option<String>, HookError>> {
        self.queries.fetch_add(1, Ordering::SeqCst);
        if let Some(late) = self.late.lock().unwrap().take() {
            return late.map(|email| Ok(email.ok())).boxed();
        }
        let answer = self.answers.lock().unwrap().get(user).cloned();
        ready(answer.ok_or(HookError::new("no such row"))).boxed()
    }
}

fn emails(directory: &Arc<Directory>, clock: &TestClock) -> Emails {
    Emails::new(Arc::clone(directory) as Arc<dyn UserDirectory>, Arc::new(clock.clone()))
}

fn find(emails: &Emails, user: &str) -> Option<String> {
    emails.find(user).now_or_never().unwrap()
}

#[test]
fn f06_failures_and_panics_leave_the_address_out_and_are_remembered() {
    let (directory, clock) = (Arc::<Directory>::default(), TestClock::default());
    let emails = emails(&directory, &clock);
    assert_eq!((find(&emails, "nobody"), find(&emails, "nobody")), (None, None));
    assert_eq!(directory.queries(), 1);

    #[derive(Debug)]
    struct Panics;
    impl UserDirectory for Panics {
        fn email(&self, _: &str) -> BoxFuture<'static, Result<Option<String>, HookError>> {
            std::panic::resume_unwind(Box::new("secret"))
        }
    }
    assert_eq!(find(&Emails::new(Arc::new(Panics), Arc::new(clock)), "user"), None);
}

#[test]
fn f10_a_query_is_shared_and_counts_for_exactly_five_minutes() {
    let (directory, clock) = (Directory::with("u", "old@example.test"), TestClock::default());
    let emails = emails(&directory, &clock);
    let (first, second) = (emails.find("u"), emails.find("u"));
    assert_eq!(first.now_or_never().unwrap(), second.now_or_never().unwrap());
    directory.set("u", Some("new@example.test"));
    clock.advance(Duration::from_millis(299_999));
    assert_eq!((find(&emails, "u").as_deref(), directory.queries()), (Some("old@example.test"), 1));
    clock.advance(Duration::from_millis(1));
    assert_eq!((find(&emails, "u").as_deref(), directory.queries()), (Some("new@example.test"), 2));
}

#[test]
fn f11_the_oldest_of_a_thousand_and_one_is_asked_for_again() {
    let (directory, clock) = (Arc::<Directory>::default(), TestClock::default());
    let emails = emails(&directory, &clock);
    for user in 0..1_001 {
        directory.set(&format!("u{user}"), Some("x@example.test"));
        find(&emails, &format!("u{user}"));
    }
    find(&emails, "u1");
    assert_eq!(directory.queries(), 1_001);
    find(&emails, "u0");
    assert_eq!(directory.queries(), 1_002);
}

#[test]
fn f12_another_cache_asks_again() {
    let (directory, clock) = (Directory::with("u", "a@example.test"), TestClock::default());
    find(&emails(&directory, &clock), "u");
    find(&emails(&directory, &clock), "u");
    assert_eq!(directory.queries(), 2);
}

#[test]
fn f13_a_waiter_that_leaves_takes_nothing_with_it() {
    let (directory, clock) = (Arc::<Directory>::default(), TestClock::default());
    let (answer, late) = oneshot::channel();
    *directory.late.lock().unwrap() = Some(late);
    let emails = emails(&directory, &clock);
    let mut leaving = Box::pin(emails.find("u"));
    let mut staying = Box::pin(emails.find("u"));
    let mut context = Context::from_waker(Waker::noop());
    assert!(leaving.as_mut().poll_unpin(&mut context).is_pending());
    assert!(staying.as_mut().poll_unpin(&mut context).is_pending());
    drop(leaving);
    answer.send("a@example.test".to_owned()).unwrap();
    assert_eq!(staying.poll_unpin(&mut context), Poll::Ready(Some("a@example.test".to_owned())));
    assert_eq!(directory.queries(), 1);
}

#[test]
fn f14_a_waiter_that_never_starts_asks_nobody() {
    let (directory, clock) = (Directory::with("u", "a@example.test"), TestClock::default());
    drop(emails(&directory, &clock).find("u"));
    assert_eq!(directory.queries(), 0);
}

#[test]
fn f19_users_are_never_mixed_up() {
    let (directory, clock) = (Arc::<Directory>::default(), TestClock::default());
    let emails = emails(&directory, &clock);
    for user in ["a", "b", "c"] {
        directory.set(user, Some(&format!("{user}@example.test")));
    }
    for user in ["a", "b", "a", "c", "b"] {
        assert_eq!(find(&emails, user), Some(format!("{user}@example.test")));
    }
}

fn names() -> impl Strategy<Value = String> {
    let names =
        ["userId", "userEmail", "finalState", "mock", "hookId", "hookType", "result", "reason", "operationId", "x"];
    proptest::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn values() -> impl Strategy<Value = Value> {
    let skill = json!({"workRegistration": {"type": "skill", "args": {"secret": 1}, "data": "secret"}});
    prop_oneof![Just(json!(null)), Just(json!("user")), Just(json!("")), Just(json!(1)), Just(skill), Just(json!({}))]
}

fn objects() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::btree_map(names(), values(), 0..8).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_payload_holds_what_the_contract_says_and_nothing_else(
        event in objects(),
        body in proptest::option::of(objects()),
        fields in proptest::option::of(proptest::collection::vec(names(), 0..4)),
        kind in proptest::sample::select(HookKind::ALL.as_slice()),
    ) {
        let config = WebhookConfig { event_fields: fields.clone(), body: body.clone(), ..WebhookConfig::new("/hook") };
        let draft = build_payload(&event, &"h".into(), kind, Purpose::Notify, Some(&config));
        let user = draft.user().map(str::to_owned);
        let payload = draft.complete(None);
        let in_body = |name: &String| body.as_ref().and_then(|body| body.get(name));
        let is_selected = |name: &String| fields.as_ref().is_none_or(|fields| fields.contains(name));
        for (name, value) in &payload {
            prop_assert!(!["finalState", "mock", "userEmail"].contains(&name.as_str()));
            let own = match name.as_str() { "hookId" => Some(json!("h")), "hookType" => Some(json!(kind)), _ => None };
            let expected = in_body(name).cloned().or(own).or_else(|| event.get(name).filter(|_| is_selected(name)).cloned());
            if kind == HookKind::AfterToolCall && name == "result" {
                prop_assert!(!value.to_string().contains("secret"));
            } else {
                prop_assert_eq!(Some(value), expected.as_ref());
            }
        }
        for name in body.iter().flat_map(Map::keys) {
            prop_assert!(payload.contains_key(name) || ["finalState", "mock", "userEmail"].contains(&name.as_str()));
        }
        let asks = is_selected(&"userEmail".to_owned());
        prop_assert!(asks || user.is_none());
        prop_assert!(user != Some(String::new()));
    }
}

/// The fuzzer starts from these: an event, a selection and a body, some with what no receiver gets.
#[test]
fn the_stored_corpus_keeps_back_what_no_receiver_gets() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/payload");
    let files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 12, "the corpus is there");
    for file in files {
        let case: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let fields: Option<Vec<String>> = serde_json::from_value(case["eventFields"].clone()).unwrap();
        let body = case["body"].as_object().cloned();
        let hook = WebhookConfig { event_fields: fields.clone(), body, ..WebhookConfig::new("/hook") };
        let draft = draft(&case["event"], HookKind::AfterToolCall, &hook);
        let wants = fields.is_none_or(|fields| fields.iter().any(|name| name == "userEmail"));
        assert!(wants || draft.user().is_none(), "{}", file.display());
        let payload = json!(draft.complete(None));
        assert!(!payload.to_string().contains("KEPT-BACK"), "{}", file.display());
    }
}
