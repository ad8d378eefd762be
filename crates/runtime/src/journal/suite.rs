//! What every store must do, as tests that any store can run.
//!
//! A store runs the whole list with [`store_contract`]; a failure panics and says which law broke.

#![expect(clippy::unwrap_used, reason = "these are tests, although other crates run them")]

mod deliveries;
mod fixtures;

use std::sync::Arc;

use jackline_model::{Message, MessageBody, NanoDollars, OperationId, Reason, Role, Status, ToolKey, Totals};
use jackline_tools::gate::{Receipt, receipt};

use self::deliveries::{deliveries_are_bounded, deliveries_are_kept};
use self::fixtures::{
    answer, asked, assistant, batch, begun, commit, decide, decided, open_request, operation, refused, result, system,
    texts, user, version, wait,
};
use super::port::{
    Approval, ApprovalQuestion, Batch, Fence, Fold, Heard, InboxItem, PlacedMessage, PostedDecision, PostedVerdict,
    Row, Store, StoreError, Summary,
};
use crate::machine::Durability;

/// Runs every law against new, empty stores.
///
/// # Panics
///
/// When a law does not hold.
pub fn store_contract(make: impl Fn() -> Arc<dyn Store>) {
    for (law, check) in LAWS {
        eprintln!("store: {law}");
        check(make().as_ref());
    }
}

type Law = (&'static str, fn(&dyn Store));

const LAWS: &[Law] = &[
    ("a new operation is idle and loads what it was created with", new_operation),
    ("an id is taken once", id_is_taken_once),
    ("what does not exist is named", unknown_operation),
    ("an old fence writes nothing", old_fence_writes_nothing),
    ("a batch is one transaction and changes the version", batch_is_one_transaction),
    ("a load begins with the last record that holds a boundary", load_begins_at_a_boundary),
    ("a delivery is kept once, handed out once, and comes back when it failed", deliveries_are_kept),
    ("deliveries are bounded, the dead ones too", deliveries_are_bounded),
    ("the first result of a call wins", first_result_wins),
    ("a tool message is written as a published result only", tool_messages_are_published),
    ("the next place lies beyond the rows reserved for calls", places_are_reserved),
    ("a fold hides messages and deletes none", fold_hides_messages),
    ("decisions are checked against the open request", decisions_are_checked),
    ("a refused post marks nothing", refused_post_marks_nothing),
    ("an expired request takes no decision", expired_request),
    ("a question takes one answer, of its choices", question_takes_one_answer),
    ("a result is taken once, for a call that waits for one", answer_is_taken_once),
    ("what is consumed is gone", consumed_is_gone),
    ("posts to other inboxes are part of the transaction", posts_wake_others),
    ("an operation that has ended is told nothing", ended_is_told_nothing),
    ("the list is newest first and bounded", list_is_newest_first),
    ("hooks that nobody needs any more are removed, and those of others stay", hooks_are_forgotten),
    ("what hooks answered is kept in order", heard_in_order),
];

fn new_operation(store: &dyn Store) {
    let before = version(store);
    let new = operation("op-1", 100);
    let fence = store.create(new.clone()).unwrap();
    assert!(fence > Fence(0), "0 is the fence that nobody has");
    let loaded = store.load(&new.id).unwrap();
    let header = store.header(&new.id).unwrap();
    assert_eq!(loaded.header, header);
    assert_eq!(header.id, new.id);
    assert_eq!(header.agent, new.agent);
    assert_eq!(header.config_hash, new.config_hash);
    assert_eq!(header.lineage, new.lineage);
    assert_eq!(header.parent_call, new.parent_call);
    assert_eq!(header.origin, new.origin);
    assert_eq!(header.user, new.user);
    assert_eq!(header.required_hooks, new.required_hooks);
    assert_eq!(store.caller_hooks(&new.id).unwrap(), new.caller_hooks);
    assert_eq!(header.created_at, new.created_at);
    let unbegun = Summary { status: Status::Idle, reason: None, steps: 0, totals: Totals::default(), updated_at: 100 };
    assert_eq!(header.summary, unbegun);
    assert_eq!(loaded.config, new.config);
    assert_eq!(store.config(&new.config_hash).unwrap(), Some(new.config));
    assert_eq!(loaded.records, Vec::<String>::new());
    assert_eq!(texts(&loaded.messages), [(0, "You help.".to_owned()), (1, "Hello".to_owned())]);
    assert_eq!(loaded.next_place, 2);
    assert_eq!(loaded.approval, None);
    assert_ne!(version(store), before);
}

fn id_is_taken_once(store: &dyn Store) {
    store.create(operation("op-1", 100)).unwrap();
    assert_eq!(store.create(operation("op-1", 200)), Err(StoreError::Exists("op-1".into())));
    assert_eq!(store.header(&"op-1".into()).unwrap().created_at, 100);
}

fn unknown_operation(store: &dyn Store) {
    let id = OperationId::from("nobody");
    let unknown = StoreError::NoSuchOperation(id.clone());
    assert_eq!(store.claim(&id), Err(unknown.clone()));
    assert_eq!(store.release(&id, Fence(1)), Err(unknown.clone()));
    assert_eq!(commit(store, batch(&id, Fence(1))), Err(unknown.clone()));
    assert_eq!(store.load(&id), Err(unknown.clone()));
    assert_eq!(store.caller_hooks(&id), Err(unknown.clone()));
    assert_eq!(store.header(&id), Err(unknown.clone()));
    assert_eq!(store.post(&id, InboxItem::Stop(None), 0), Err(unknown.clone()));
    assert_eq!(store.records(&id), Err(unknown.clone()));
    assert_eq!(store.messages(&id), Err(unknown.clone()));
    assert_eq!(store.inbox(&id), Err(unknown.clone()));
    assert_eq!(store.approval(&id), Err(unknown));
    assert_eq!(store.blob(&"nothing".into()), Ok(None));
    assert_eq!(store.config(&"nothing".into()), Ok(None));
}

fn old_fence_writes_nothing(store: &dyn Store) {
    let (id, old) = begun(store);
    store.release(&id, old).unwrap();
    assert_eq!(store.release(&id, old), Err(StoreError::LostOwnership(id.clone())));
    let orphaned = Batch { record: "nobody's".to_owned(), ..batch(&id, old) };
    assert_eq!(commit(store, orphaned), Err(StoreError::LostOwnership(id.clone())));
    let new = store.claim(&id).unwrap();
    assert!(new > old, "a claim gives a higher fence");
    let late = Batch { record: "late".to_owned(), ..batch(&id, old) };
    assert_eq!(commit(store, late), Err(StoreError::LostOwnership(id.clone())));
    assert_eq!(store.records(&id).unwrap(), Vec::<String>::new());
    // A loser's error does not stop the winner.
    let _ = wait(store.flush(&id, Durability::Gate));
    commit(store, Batch { record: "on time".to_owned(), ..batch(&id, new) }).unwrap();
    assert_eq!(store.records(&id).unwrap(), ["on time"]);
}

fn batch_is_one_transaction(store: &dyn Store) {
    let (id, fence) = begun(store);
    let before = version(store);
    let summary = Summary {
        status: Status::Running,
        reason: None,
        steps: 1,
        totals: Totals { llm_calls: 1, cost: NanoDollars(7), ..Totals::default() },
        updated_at: 150,
    };
    let whole = Batch {
        record: "r1".to_owned(),
        rows: vec![Row::Message(assistant(2, &["c-1"]))],
        approval: Some(asked(&["c-1"], Some(900))),
        summary: Some(summary.clone()),
        ..batch(&id, fence)
    };
    commit(store, whole).unwrap();
    assert_ne!(version(store), before);
    assert_eq!(store.records(&id).unwrap(), ["r1"]);
    assert_eq!(store.header(&id).unwrap().summary, summary);
    assert_eq!(store.approval(&id).unwrap(), Some(asked(&["c-1"], Some(900))));
    assert_eq!(store.load(&id).unwrap().approval, Some(asked(&["c-1"], Some(900))));
    assert_eq!(store.messages(&id).unwrap().len(), 3);

    let closing = Batch { record: "r2".to_owned(), approval_closed: true, ..batch(&id, fence) };
    commit(store, closing).unwrap();
    assert_eq!(store.approval(&id).unwrap(), None);
    assert_eq!(store.header(&id).unwrap().summary, summary, "a batch without a summary keeps the last");

    let lost = Batch {
        record: "r3".to_owned(),
        rows: vec![Row::Message(assistant(9, &[]))],
        posts: vec![("nobody".into(), InboxItem::Stop(None))],
        ..batch(&id, fence)
    };
    assert_eq!(commit(store, lost), Err(StoreError::NoSuchOperation("nobody".into())));
    assert_eq!(store.records(&id).unwrap(), ["r1", "r2"]);
    assert_eq!(store.messages(&id).unwrap().len(), 3);
}

fn load_begins_at_a_boundary(store: &dyn Store) {
    let (id, fence) = begun(store);
    for (record, boundary) in [("a", false), ("b", true), ("c", false), ("d", true), ("e", false), ("f", false)] {
        commit(store, Batch { record: record.to_owned(), boundary, ..batch(&id, fence) }).unwrap();
        if record == "a" {
            assert_eq!(store.load(&id).unwrap().records, ["a"]);
        }
    }
    assert_eq!(store.load(&id).unwrap().records, ["d", "e", "f"]);
    assert_eq!(store.records(&id).unwrap(), ["a", "b", "c", "d", "e", "f"]);
    // The same for records that no one waits for in between, which a store may write together.
    for (record, boundary) in [("g", false), ("h", true), ("\u{e9}", false), ("j\u{e9}", true), ("k", false)] {
        store.append(Batch { record: record.to_owned(), boundary, ..batch(&id, fence) }).unwrap();
    }
    commit(store, batch(&id, fence)).unwrap();
    assert_eq!(store.load(&id).unwrap().records[..2], ["j\u{e9}", "k"]);
    assert_eq!(store.records(&id).unwrap()[6..11], ["g", "h", "\u{e9}", "j\u{e9}", "k"]);
}

fn first_result_wins(store: &dyn Store) {
    let (id, fence) = begun(store);
    let asking = vec![Row::Message(assistant(2, &["c-1", "c-2"]))];
    commit(store, Batch { rows: asking, ..batch(&id, fence) }).unwrap();
    // Positions are reserved, so the second call may end first.
    commit(store, Batch { rows: vec![result(4, "c-2", &Receipt::Aborted)], ..batch(&id, fence) }).unwrap();
    commit(store, Batch { rows: vec![result(3, "c-1", &Receipt::InDoubt)], ..batch(&id, fence) }).unwrap();
    commit(store, Batch { rows: vec![result(3, "c-1", &Receipt::Aborted)], ..batch(&id, fence) }).unwrap();
    let messages = store.messages(&id).unwrap();
    let rows: Vec<_> = messages.iter().filter(|stored| stored.message.role() == Role::Tool).collect();
    assert_eq!(rows.iter().map(|stored| stored.place).collect::<Vec<_>>(), [3, 4]);
    let expected = receipt(&Receipt::InDoubt).result().clone();
    assert_eq!(expected.execution_time, Some(0));
    assert_eq!(rows[0].message.body.tool_result(), Some(expected));
}

fn tool_messages_are_published(store: &dyn Store) {
    let (id, fence) = begun(store);
    let body = MessageBody::Tool {
        call_id: "c-1".into(),
        key: ToolKey::new("fs", "write"),
        content: "nobody judged this".into(),
        success: true,
        error: None,
        state: None,
        execution_time: None,
        device_execution_time: None,
        work_registration: None,
    };
    let forged = PlacedMessage { place: 2, message: Message { id: "m-2".into(), body } };
    let outcome = commit(store, Batch { rows: vec![Row::Message(forged)], ..batch(&id, fence) });
    assert!(matches!(outcome, Err(StoreError::Refused(_))), "{outcome:?}");
    assert_eq!(store.messages(&id).unwrap().len(), 2);
    let fence = store.claim(&id).unwrap();
    let rows = vec![result(1, "c-1", &Receipt::Aborted)];
    let taken = commit(store, Batch { rows, ..batch(&id, fence) });
    assert!(matches!(taken, Err(StoreError::Damaged(_))), "another message has the place: {taken:?}");
    assert_eq!(store.records(&id).unwrap(), Vec::<String>::new());
}

fn places_are_reserved(store: &dyn Store) {
    let (id, fence) = begun(store);
    let rows = vec![Row::Message(assistant(2, &["c-1", "c-2"]))];
    commit(store, Batch { rows, ..batch(&id, fence) }).unwrap();
    assert_eq!(store.load(&id).unwrap().next_place, 5);
    commit(store, Batch { rows: vec![result(4, "c-2", &Receipt::Aborted)], ..batch(&id, fence) }).unwrap();
    assert_eq!(store.load(&id).unwrap().next_place, 5);
    commit(store, Batch { rows: vec![Row::Message(user(5, "And now?"))], ..batch(&id, fence) }).unwrap();
    assert_eq!(store.load(&id).unwrap().next_place, 6);
}

fn fold_hides_messages(store: &dyn Store) {
    let (id, fence) = begun(store);
    let rows = vec![Row::Message(assistant(2, &[])), Row::Message(user(3, "More"))];
    commit(store, Batch { rows, ..batch(&id, fence) }).unwrap();
    let first = Fold { summary: system(1, "They said hello."), folded: vec![1, 2] };
    commit(store, Batch { fold: Some(first), ..batch(&id, fence) }).unwrap();
    let seen = |expected: &[(u32, &str)]| {
        let expected: Vec<_> = expected.iter().map(|(place, text)| (*place, (*text).to_owned())).collect();
        assert_eq!(texts(&store.load(&id).unwrap().messages), expected);
    };
    seen(&[(0, "You help."), (1, "They said hello."), (3, "More")]);
    let second = Fold { summary: system(1, "They talked."), folded: vec![1, 3] };
    commit(store, Batch { fold: Some(second), ..batch(&id, fence) }).unwrap();
    seen(&[(0, "You help."), (1, "They talked.")]);
    let all = store.messages(&id).unwrap();
    let at_first: Vec<_> = texts(&all).into_iter().filter(|(place, _)| *place == 1).map(|(_, text)| text).collect();
    assert_eq!(at_first, ["Hello", "They said hello.", "They talked."], "a summary stands behind what it folds");
    assert_eq!(all.iter().map(|stored| stored.place).collect::<Vec<_>>(), [0, 1, 1, 1, 2, 3]);
    assert_eq!(all.iter().filter(|stored| stored.folded).count(), 4);
    assert_eq!(store.load(&id).unwrap().next_place, 4);
}

fn decisions_are_checked(store: &dyn Store) {
    let (id, fence) = begun(store);
    let post = |decisions| store.post(&id, InboxItem::Decided(decisions), 500);
    refused(post(vec![decide("c-1", PostedVerdict::Approve)]), "the operation does not wait for a decision");
    open_request(store, &id, fence, &["c-1", "c-2", "c-3"], Some(900));
    refused(post(vec![]), "nothing was decided");
    refused(post(vec![decide("c-9", PostedVerdict::Approve)]), "call `c-9` does not wait for a decision");
    let words = PostedVerdict::Answer { text: "yes".to_owned() };
    refused(post(vec![decide("c-1", words)]), "call `c-1` waits for approval or rejection, not for an answer in words");
    let unnamed = PostedDecision { call: None, verdict: PostedVerdict::Approve };
    refused(post(vec![unnamed]), "the operation asks about calls; name one");

    let before = version(store);
    let first = post(vec![decide("c-1", PostedVerdict::Approve)]).unwrap();
    assert_ne!(version(store), before);
    refused(post(vec![decide("c-1", PostedVerdict::Approve)]), "call `c-1` is already decided");
    let no = PostedVerdict::Reject { reason: Some("too risky".to_owned()) };
    let second = post(vec![decide("c-2", no.clone())]).unwrap();
    assert!(second > first);
    let items = store.inbox(&id).unwrap();
    let expected = [
        (first, InboxItem::Decided(vec![decide("c-1", PostedVerdict::Approve)])),
        (second, InboxItem::Decided(vec![decide("c-2", no)])),
    ];
    assert_eq!(items, expected);
    assert_eq!(decided(store, &id), [true, true, false]);
}

fn refused_post_marks_nothing(store: &dyn Store) {
    let (id, fence) = begun(store);
    open_request(store, &id, fence, &["c-1", "c-2"], None);
    let mixed = vec![decide("c-1", PostedVerdict::Approve), decide("c-9", PostedVerdict::Approve)];
    refused(store.post(&id, InboxItem::Decided(mixed), 500), "call `c-9` does not wait for a decision");
    let twice = vec![decide("c-2", PostedVerdict::Approve), decide("c-2", PostedVerdict::Approve)];
    refused(store.post(&id, InboxItem::Decided(twice), 500), "call `c-2` is already decided");
    assert_eq!(decided(store, &id), [false, false]);
    assert_eq!(store.inbox(&id).unwrap(), []);
}

fn expired_request(store: &dyn Store) {
    let (id, fence) = begun(store);
    open_request(store, &id, fence, &["c-1"], Some(900));
    let yes = || InboxItem::Decided(vec![decide("c-1", PostedVerdict::Approve)]);
    refused(store.post(&id, yes(), 900), "the request for a decision has expired");
    store.post(&id, yes(), 899).unwrap();
}

fn question_takes_one_answer(store: &dyn Store) {
    let (id, fence) = begun(store);
    let question =
        ApprovalQuestion::Select { prompt: "Colour?".to_owned(), options: vec!["red".into(), "blue".into()] };
    let approval = Approval { question, ..asked(&[], None) };
    commit(store, Batch { approval: Some(approval), ..batch(&id, fence) }).unwrap();
    let say = |text: &str| PostedDecision { call: None, verdict: PostedVerdict::Answer { text: text.to_owned() } };
    let post = |decisions| store.post(&id, InboxItem::Decided(decisions), 500);
    refused(post(vec![say("green")]), "`green` is none of the choices: red, blue");
    refused(post(vec![say("red"), say("blue")]), "the operation asks one question; give one answer");
    refused(post(vec![decide("c-1", PostedVerdict::Approve)]), "call `c-1` does not wait for a decision");
    let yes = PostedDecision { call: None, verdict: PostedVerdict::Approve };
    refused(post(vec![yes]), "the question wants an answer in words");
    post(vec![say("red")]).unwrap();
    refused(post(vec![say("blue")]), "the question is already answered");

    let approval = Approval { question: ApprovalQuestion::Prompt("Why?".to_owned()), ..asked(&[], None) };
    commit(store, Batch { approval_closed: true, approval: Some(approval), ..batch(&id, fence) }).unwrap();
    post(vec![say("anything")]).unwrap();
}

fn answer_is_taken_once(store: &dyn Store) {
    let (id, fence) = begun(store);
    let rows = vec![Row::Message(assistant(2, &["c-1", "c-2", "c-3"])), result(3, "c-1", &Receipt::Aborted)];
    let approval = Some(asked(&["c-3"], None));
    commit(store, Batch { rows, approval, ..batch(&id, fence) }).unwrap();
    let post = |call: &str, result: &str| store.post(&id, answer(call, result), 500);
    let fine = r#"{"content":"done","success":true}"#;
    refused(post("c-9", fine), "there is no open call `c-9`");
    refused(post("c-1", fine), "call `c-1` has its result already");
    refused(post("c-3", fine), "call `c-3` waits for a decision, not for a result");
    refused(post("c-2", "secret"), "the result of call `c-2` is no tool result (line 1, column 1)");
    let first = post("c-2", fine).unwrap();
    refused(post("c-2", fine), "call `c-2` is already answered");
    assert_eq!(store.inbox(&id).unwrap(), [(first, answer("c-2", fine))]);

    let rows = vec![result(4, "c-2", &Receipt::InDoubt)];
    commit(store, Batch { rows, consumed: vec![first], ..batch(&id, fence) }).unwrap();
    refused(post("c-2", fine), "call `c-2` has its result already");

    // The provider uses the ids again in the next turn, where `c-3` is not among them.
    let rows = vec![Row::Message(assistant(6, &["c-1", "c-2"])), result(7, "c-1", &Receipt::Aborted)];
    commit(store, Batch { rows, ..batch(&id, fence) }).unwrap();
    refused(post("c-1", fine), "call `c-1` has its result already");
    refused(post("c-3", fine), "there is no open call `c-3`");
    post("c-2", fine).unwrap();
}

fn consumed_is_gone(store: &dyn Store) {
    let (id, fence) = begun(store);
    let first = store.post(&id, InboxItem::Stop(None), 500).unwrap();
    let second = store.post(&id, InboxItem::ChildEnded { child: "op-2".into(), call: 1 }, 501).unwrap();
    let before = version(store);
    commit(store, Batch { consumed: vec![first], ..batch(&id, fence) }).unwrap();
    assert_ne!(version(store), before);
    assert_eq!(store.inbox(&id).unwrap(), [(second, InboxItem::ChildEnded { child: "op-2".into(), call: 1 })]);
    // A record that is written again after a crash consumes again: that is ordinary.
    commit(store, Batch { consumed: vec![first, second], ..batch(&id, fence) }).unwrap();
    assert_eq!(store.inbox(&id).unwrap(), []);
}

fn posts_wake_others(store: &dyn Store) {
    let (child, fence) = begun(store);
    store.create(operation("op-parent", 50)).unwrap();
    let ended = InboxItem::ChildEnded { child: child.clone(), call: 2 };
    let posts = vec![("op-parent".into(), ended.clone())];
    commit(store, Batch { posts, ..batch(&child, fence) }).unwrap();
    let items: Vec<_> = store.inbox(&"op-parent".into()).unwrap().into_iter().map(|(_, item)| item).collect();
    assert_eq!(items, [ended]);
    assert_eq!(store.inbox(&child).unwrap(), []);
}

fn ended_is_told_nothing(store: &dyn Store) {
    let (id, fence) = begun(store);
    let summary = Summary {
        status: Status::Done,
        reason: Some(Reason::Done),
        steps: 2,
        totals: Totals::default(),
        updated_at: 700,
    };
    commit(store, Batch { summary: Some(summary), ..batch(&id, fence) }).unwrap();
    let items = [
        InboxItem::Stop(None),
        InboxItem::ChildEnded { child: "op-2".into(), call: 1 },
        InboxItem::Decided(vec![decide("c-1", PostedVerdict::Approve)]),
        answer("c-1", r#"{"content":"done","success":true}"#),
    ];
    for item in items {
        refused(store.post(&id, item, 800), "the operation has ended (done)");
    }
    assert_eq!(store.inbox(&id).unwrap(), []);
}

fn list_is_newest_first(store: &dyn Store) {
    for (id, created_at) in [("op-1", 100), ("op-3", 300), ("op-2", 200)] {
        store.create(operation(id, created_at)).unwrap();
    }
    let ids =
        |limit| -> Vec<String> { store.list(limit).unwrap().iter().map(|header| header.id.to_string()).collect() };
    assert_eq!(ids(10), ["op-3", "op-2", "op-1"]);
    assert_eq!(ids(2), ["op-3", "op-2"]);
}

fn heard_in_order(store: &dyn Store) {
    let new = operation("op-1", 100);
    let fence = store.create(new.clone()).unwrap();
    let heard = |call: Option<&str>, n: u8| Heard { call: call.map(Into::into), text: format!("{{\"n\":{n}}}") };
    let all = [heard(None, 1), heard(Some("c1"), 2), heard(Some("c1"), 3)];
    commit(store, Batch { heard: all[..2].to_vec(), ..batch(&new.id, fence) }).unwrap();
    commit(store, Batch { heard: all[2..].to_vec(), ..batch(&new.id, fence) }).unwrap();
    assert_eq!(store.heard(&new.id).unwrap(), all);
    assert!(matches!(store.heard(&"nobody".into()), Err(StoreError::NoSuchOperation(_))));
}

fn hooks_are_forgotten(store: &dyn Store) {
    let (one, other) = (operation("op-1", 100), operation("op-2", 100));
    for new in [&one, &other] {
        store.create(new.clone()).unwrap();
    }
    store.forget_hooks(&one.id).unwrap();
    assert_eq!(store.caller_hooks(&one.id).unwrap(), Vec::<String>::new());
    assert_eq!(store.caller_hooks(&other.id).unwrap(), other.caller_hooks);
    let unknown = OperationId::from("nobody");
    assert_eq!(store.forget_hooks(&unknown), Err(StoreError::NoSuchOperation(unknown)));
}
