//! What every store must do. The bodies know the port only, so that a shared suite can take over.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use common::{
    Place, answer, approval_of, asked, batch, bytes_on_disk, contains, decided, id, new_operation, result, said,
    summary, write,
};
use jackline_model::{Content, Message, MessageBody, Reason, Status};
use jackline_runtime::journal::{
    ApprovalQuestion, Fence, Fold, InboxItem, PlacedMessage, PostedDecision, PostedVerdict, Row, Store, StoreError,
};
use jackline_runtime::machine::Durability;

fn is_refused(outcome: Result<jackline_runtime::journal::InboxId, StoreError>, words: &str) -> bool {
    matches!(outcome, Err(StoreError::Refused(why)) if why.contains(words))
}

#[test]
fn a_new_operation_reads_back_whole() {
    let place = Place::new();
    let store = place.open();
    let new = new_operation("op");

    store.create(new.clone()).unwrap();

    let loaded = store.load(&id("op")).unwrap();
    assert_eq!(loaded.header.id, new.id);
    assert_eq!(loaded.header.agent, new.agent);
    assert_eq!(loaded.header.lineage, new.lineage);
    assert_eq!(loaded.header.origin, new.origin);
    assert_eq!(loaded.header.user, new.user);
    assert_eq!(loaded.header.required_hooks, new.required_hooks);
    assert_eq!(loaded.header.summary.status, Status::Idle);
    assert_eq!(loaded.header.summary.updated_at, 1_000);
    assert_eq!(loaded.config, new.config);
    assert_eq!(store.config(&new.config_hash).unwrap(), Some(new.config));
    assert_eq!(
        loaded.messages.iter().map(|stored| stored.message.clone()).collect::<Vec<_>>(),
        [new.messages[0].message.clone(), new.messages[1].message.clone()]
    );
    assert_eq!((loaded.records, loaded.next_place, loaded.approval), (vec![], 2, None));
}

#[test]
fn an_id_is_taken_once() {
    let place = Place::new();
    let store = place.open();
    store.create(new_operation("op")).unwrap();
    assert_eq!(store.create(new_operation("op")), Err(StoreError::Exists(id("op"))));
}

#[test]
fn what_is_not_there_is_said_by_name() {
    let place = Place::new();
    let store = place.open();
    let none = StoreError::NoSuchOperation(id("none"));
    assert_eq!(store.claim(&id("none")), Err(none.clone()));
    assert_eq!(store.release(&id("none"), Fence(1)), Err(none.clone()));
    assert_eq!(store.append(batch("none", Fence(1), "r")), Err(none.clone()));
    assert_eq!(store.post(&id("none"), InboxItem::Stop, 0), Err(none.clone()));
    assert_eq!(store.inbox(&id("none")), Err(none.clone()));
    assert_eq!(store.load(&id("none")), Err(none.clone()));
    assert_eq!(store.header(&id("none")), Err(none.clone()));
    assert_eq!(store.records(&id("none")), Err(none.clone()));
    assert_eq!(store.messages(&id("none")), Err(none.clone()));
    assert_eq!(store.approval(&id("none")), Err(none));
    assert_eq!(store.blob(&"none".into()), Ok(None));
    assert_eq!(store.config(&"none".into()), Ok(None));
}

#[tokio::test]
async fn a_resume_reads_from_the_last_boundary_and_a_trace_reads_all() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    for (record, boundary) in [("r1", false), ("r2", true), ("r3", false), ("r4", true), ("r5", false)] {
        let mut next = batch("op", fence, record);
        next.boundary = boundary;
        store.append(next).unwrap();
    }
    store.flush(&id("op"), Durability::Gate).await.unwrap();
    assert_eq!(store.load(&id("op")).unwrap().records, ["r4", "r5"]);
    assert_eq!(store.records(&id("op")).unwrap(), ["r1", "r2", "r3", "r4", "r5"]);
}

#[test]
fn a_reader_sees_what_was_appended_without_waiting_for_it() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    store.append(batch("op", fence, "r1")).unwrap();
    assert_eq!(store.records(&id("op")).unwrap(), ["r1"]);
}

#[tokio::test]
async fn a_batch_with_an_old_fence_writes_nothing() {
    let place = Place::new();
    let store = place.open();
    let old = store.create(new_operation("op")).unwrap();
    let new = store.claim(&id("op")).unwrap();
    assert!(new > old);

    assert_eq!(write(&store, batch("op", old, "late")).await, Err(StoreError::LostOwnership(id("op"))));
    write(&store, batch("op", new, "good")).await.unwrap();

    assert_eq!(store.records(&id("op")).unwrap(), ["good"]);
}

#[tokio::test]
async fn nobody_owns_what_was_released() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    store.release(&id("op"), fence).unwrap();
    assert_eq!(store.release(&id("op"), fence), Err(StoreError::LostOwnership(id("op"))));
    assert_eq!(write(&store, batch("op", fence, "late")).await, Err(StoreError::LostOwnership(id("op"))));
    let again = store.claim(&id("op")).unwrap();
    write(&store, batch("op", again, "good")).await.unwrap();
}

#[tokio::test]
async fn the_first_result_of_a_call_wins() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let mut first = batch("op", fence, "r1");
    first.rows = vec![Row::Message(asked(2, "m2", "", &["a", "b"])), result(4, "b", "first")];
    write(&store, first).await.unwrap();
    assert_eq!(store.load(&id("op")).unwrap().next_place, 5);

    let mut second = batch("op", fence, "r2");
    second.rows = vec![result(4, "b", "second"), result(3, "a", "other")];
    write(&store, second).await.unwrap();

    let rows = store.messages(&id("op")).unwrap();
    let texts: Vec<_> = rows.iter().skip(3).map(|row| (row.place, tool_text(&row.message))).collect();
    assert_eq!(texts, [(3, "The tool did not run. other".to_owned()), (4, "The tool did not run. first".to_owned())]);
}

fn tool_text(message: &Message) -> String {
    let MessageBody::Tool { content, success: false, .. } = &message.body else {
        panic!("{message:?} is no failed result");
    };
    content.to_string()
}

#[tokio::test]
async fn places_of_calls_without_a_result_stay_reserved() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let mut next = batch("op", fence, "r1");
    next.rows = vec![Row::Message(asked(2, "m2", "", &["a", "b"])), result(3, "a", "x")];
    write(&store, next).await.unwrap();
    assert_eq!(store.load(&id("op")).unwrap().next_place, 5);
}

#[tokio::test]
async fn a_result_cannot_come_in_as_a_message_or_take_another_place() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let body = MessageBody::Tool {
        call_id: "a".into(),
        key: jackline_model::ToolKey::new("fs", "read"),
        content: "raw".into(),
        success: true,
        error: None,
        state: None,
    };
    let mut forged = batch("op", fence, "r1");
    forged.rows = vec![Row::Message(PlacedMessage { place: 2, message: Message { id: "m".into(), body } })];
    assert!(matches!(write(&store, forged).await, Err(StoreError::Refused(_))));

    let fence = store.claim(&id("op")).unwrap();
    let mut taken = batch("op", fence, "r1");
    taken.rows = vec![result(1, "a", "x")];
    assert!(matches!(write(&store, taken).await, Err(StoreError::Damaged(_))));
    assert_eq!(store.records(&id("op")).unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_batch_stops_its_operation_and_no_other() {
    let place = Place::new();
    let store = place.open();
    let sick = store.create(new_operation("sick")).unwrap();
    let well = store.create(new_operation("well")).unwrap();
    let mut bad = batch("sick", sick, "bad");
    bad.rows = vec![Row::Message(said(0, "dup", "taken"))];
    store.append(batch("sick", sick, "before")).unwrap();
    store.append(bad).unwrap();
    store.append(batch("well", well, "fine")).unwrap();
    store.flush(&id("well"), Durability::Committed).await.unwrap();

    let failure = store.flush(&id("sick"), Durability::Behind).await.unwrap_err();
    assert!(matches!(failure, StoreError::Damaged(_)));
    assert_eq!(store.append(batch("sick", sick, "after")), Err(failure.clone()));
    assert_eq!(store.flush(&id("sick"), Durability::Gate).await, Err(failure));
    assert_eq!(store.records(&id("sick")).unwrap(), ["before"]);
    assert_eq!(store.records(&id("well")).unwrap(), ["fine"]);

    let sick = store.claim(&id("sick")).unwrap();
    write(&store, batch("sick", sick, "after")).await.unwrap();
    assert_eq!(store.records(&id("sick")).unwrap(), ["before", "after"]);
}

#[tokio::test]
async fn a_summary_takes_the_place_of_what_it_folds_and_nothing_is_deleted() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let mut filled = batch("op", fence, "r1");
    filled.rows = (2..6).map(|n| Row::Message(said(n, &format!("m{n}"), "x"))).collect();
    write(&store, filled).await.unwrap();

    let mut first = batch("op", fence, "fold 1");
    first.fold = Some(Fold { summary: said(1, "s1", "so far"), folded: vec![1, 2, 3] });
    write(&store, first).await.unwrap();
    assert_eq!(live(&store), ["m0", "s1", "m4", "m5"]);

    let mut second = batch("op", fence, "fold 2");
    second.fold = Some(Fold { summary: said(1, "s2", "so far and more"), folded: vec![1, 4] });
    write(&store, second).await.unwrap();
    assert_eq!(live(&store), ["m0", "s2", "m5"]);

    let all: Vec<_> =
        store.messages(&id("op")).unwrap().into_iter().map(|row| (row.message.id.to_string(), row.folded)).collect();
    let folded = |name: &str| (name.to_owned(), true);
    let kept = |name: &str| (name.to_owned(), false);
    assert_eq!(
        all,
        [kept("m0"), folded("m1"), folded("s1"), kept("s2"), folded("m2"), folded("m3"), folded("m4"), kept("m5")]
    );
    assert_eq!(store.load(&id("op")).unwrap().next_place, 6);
}

fn live(store: &dyn Store) -> Vec<String> {
    store.load(&id("op")).unwrap().messages.iter().map(|row| row.message.id.to_string()).collect()
}

#[tokio::test]
async fn the_list_shows_the_newest_first_with_its_summary() {
    let place = Place::new();
    let store = place.open();
    for (name, created_at) in [("b", 20), ("c", 30), ("a", 10)] {
        let mut new = new_operation(name);
        new.created_at = created_at;
        store.create(new).unwrap();
    }
    let fence = store.claim(&id("b")).unwrap();
    let mut last = batch("b", fence, "end");
    let mut shown = summary(Status::Done);
    shown.reason = Some(Reason::MaxSteps);
    last.summary = Some(shown.clone());
    write(&store, last).await.unwrap();

    let names: Vec<_> = store.list(2).unwrap().iter().map(|header| header.id.to_string()).collect();
    assert_eq!(names, ["c", "b"]);
    assert_eq!(store.header(&id("b")).unwrap().summary, shown);
}

#[tokio::test]
async fn every_status_and_reason_reads_back() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    for reason in Reason::ALL {
        let mut next = batch("op", fence, "end");
        let mut shown = summary(reason.status());
        shown.reason = Some(reason);
        next.summary = Some(shown.clone());
        write(&store, next).await.unwrap();
        assert_eq!(store.header(&id("op")).unwrap().summary, shown);
    }
    for status in [Status::Idle, Status::Running, Status::WaitingForHuman, Status::WaitingForAsyncTool] {
        let mut next = batch("op", fence, "on");
        next.summary = Some(summary(status));
        write(&store, next).await.unwrap();
        assert_eq!(store.header(&id("op")).unwrap().summary.status, status);
    }
}

async fn with_approval(store: &dyn Store, approval: jackline_runtime::journal::Approval) -> Fence {
    let fence = store.create(new_operation("op")).unwrap();
    let mut ask = batch("op", fence, "ask");
    ask.approval = Some(approval);
    ask.summary = Some(summary(Status::WaitingForHuman));
    write(store, ask).await.unwrap();
    fence
}

#[tokio::test]
async fn a_call_is_decided_once() {
    let place = Place::new();
    let store = place.open();
    with_approval(&store, approval_of(&["a", "b"])).await;
    let op = id("op");
    assert_eq!(store.approval(&op).unwrap(), Some(approval_of(&["a", "b"])));

    let approve = |call| decided(Some(call), PostedVerdict::Approve);
    assert!(is_refused(store.post(&op, approve("zzz"), 2_000), "no decision is asked for about call `zzz`"));
    let posted = store.post(&op, approve("a"), 2_000).unwrap();
    assert!(is_refused(store.post(&op, approve("a"), 2_000), "already decided"));
    assert!(is_refused(store.post(&op, approve("b"), 9_000), "expired"));
    assert!(is_refused(store.post(&op, InboxItem::Decided(vec![]), 2_000), "decides nothing"));
    assert!(is_refused(store.post(&op, decided(None, PostedVerdict::Approve), 2_000), "which one"));
    let both = InboxItem::Decided(
        ["b", "b"].map(|call| PostedDecision { call: Some(call.into()), verdict: PostedVerdict::Approve }).into(),
    );
    assert!(is_refused(store.post(&op, both, 2_000), "already decided"));
    let words = PostedVerdict::Answer { text: "yes".into() };
    assert!(is_refused(store.post(&op, decided(Some("b"), words), 2_000), "wants approval"));

    let ApprovalQuestion::Calls(calls) = store.approval(&op).unwrap().unwrap().question else {
        panic!("the question has changed");
    };
    let marks: Vec<_> = calls.iter().map(|call| call.decided).collect();
    assert_eq!(marks, [true, false]);
    assert_eq!(store.inbox(&op).unwrap(), [(posted, approve("a"))]);
}

#[tokio::test]
async fn a_settled_request_takes_no_decisions() {
    let place = Place::new();
    let store = place.open();
    let fence = with_approval(&store, approval_of(&["a"])).await;
    let mut close = batch("op", fence, "closed");
    close.approval_closed = true;
    write(&store, close).await.unwrap();
    assert_eq!(store.approval(&id("op")).unwrap(), None);
    assert_eq!(store.load(&id("op")).unwrap().approval, None);
    let late = store.post(&id("op"), decided(Some("a"), PostedVerdict::Approve), 0);
    assert!(is_refused(late, "no decision is asked for"));
}

#[tokio::test]
async fn a_question_is_answered_once_and_with_one_of_its_options() {
    let place = Place::new();
    let store = place.open();
    let mut ask = approval_of(&[]);
    ask.question = ApprovalQuestion::Select { prompt: "which?".into(), options: vec!["red".into(), "blue".into()] };
    ask.expires_at = None;
    with_approval(&store, ask).await;
    let op = id("op");
    let say = |text: &str| decided(None, PostedVerdict::Answer { text: text.into() });
    assert!(is_refused(store.post(&op, say("green"), u64::MAX), "none of the choices: red, blue"));
    assert!(is_refused(store.post(&op, decided(Some("a"), PostedVerdict::Approve), 0), "a question is open"));
    assert!(is_refused(store.post(&op, decided(None, PostedVerdict::Approve), 0), "wants an answer"));
    store.post(&op, say("blue"), u64::MAX).unwrap();
    assert!(is_refused(store.post(&op, say("red"), 0), "already answered"));
}

#[tokio::test]
async fn every_inbox_item_reads_back_in_order() {
    let place = Place::new();
    let store = place.open();
    let fence = with_approval(&store, approval_of(&["a", "b", "c"])).await;
    let items = [
        decided(Some("a"), PostedVerdict::Approve),
        decided(Some("b"), PostedVerdict::Reject { reason: Some("no".into()) }),
        decided(Some("c"), PostedVerdict::RejectAndContinue { reason: None }),
        answer("d", "{\"content\":\"x\"}"),
        InboxItem::ChildEnded { child: id("child"), call: 7 },
        InboxItem::Stop,
    ];
    let ids: Vec<_> = items.iter().map(|item| store.post(&id("op"), item.clone(), 0).unwrap()).collect();
    let stored = store.inbox(&id("op")).unwrap();
    assert_eq!(stored, ids.iter().copied().zip(items.iter().cloned()).collect::<Vec<_>>());

    let mut consume = batch("op", fence, "consumed");
    consume.consumed = ids[..5].to_vec();
    write(&store, consume).await.unwrap();
    assert_eq!(store.inbox(&id("op")).unwrap(), [(ids[5], InboxItem::Stop)]);
}

#[tokio::test]
async fn a_call_is_answered_once_and_never_after_the_end() {
    let place = Place::new();
    let store = place.open();
    let op = id("op");
    let fence = store.create(new_operation("op")).unwrap();
    let mut parked = batch("op", fence, "parked");
    parked.rows = vec![Row::Message(asked(2, "m2", "", &["a", "b"])), result(3, "a", "x")];
    write(&store, parked).await.unwrap();

    assert!(is_refused(store.post(&op, answer("a", "1"), 0), "already answered"));
    let posted = store.post(&op, answer("b", "1"), 0).unwrap();
    assert!(is_refused(store.post(&op, answer("b", "2"), 0), "already answered"));

    // The provider uses the id again in the next turn.
    let mut next = batch("op", fence, "next turn");
    next.rows = vec![result(4, "b", "y"), Row::Message(asked(5, "m5", "", &["a"]))];
    next.consumed = vec![posted];
    write(&store, next).await.unwrap();
    store.post(&op, answer("a", "1"), 0).unwrap();

    let mut end = batch("op", fence, "end");
    end.summary = Some(summary(Status::Done));
    write(&store, end).await.unwrap();
    assert!(is_refused(store.post(&op, answer("c", "1"), 0), "has ended (done)"));
    assert!(is_refused(store.post(&op, InboxItem::Stop, 0), "has ended (done)"));
}

#[tokio::test]
async fn the_end_of_a_child_wakes_its_parent_in_the_same_transaction() {
    let place = Place::new();
    let store = place.open();
    store.create(new_operation("parent")).unwrap();
    let fence = store.create(new_operation("child")).unwrap();
    let item = InboxItem::ChildEnded { child: id("child"), call: 1 };
    let mut end = batch("child", fence, "end");
    end.posts = vec![(id("parent"), item.clone())];
    write(&store, end).await.unwrap();
    assert_eq!(store.inbox(&id("parent")).unwrap().into_iter().map(|(_, item)| item).collect::<Vec<_>>(), [item]);
}

#[tokio::test]
async fn the_version_changes_when_another_store_writes() {
    let place = Place::new();
    let mine = place.open();
    let other = place.open();
    mine.create(new_operation("op")).unwrap();
    let before = mine.version().unwrap();
    assert_eq!(mine.version().unwrap(), before);
    other.post(&id("op"), InboxItem::Stop, 0).unwrap();
    assert_ne!(mine.version().unwrap(), before);
    assert_eq!(mine.inbox(&id("op")).unwrap().len(), 1);
}

#[tokio::test]
async fn text_comes_back_byte_for_byte() {
    let odd = "line\u{2028}sep\u{2029} nel\u{85} cr\r lf\n crlf\r\n tab\t nul\0 end \u{feff}\u{10ffff}\"\\";
    let place = Place::new();
    let fence = {
        let store = place.open();
        let mut new = new_operation("op");
        new.messages = vec![said(0, odd, odd)];
        new.agent = odd.into();
        let fence = store.create(new).unwrap();
        let mut next = batch("op", fence, odd);
        next.rows = vec![Row::Message(asked(1, "m1", odd, &[odd])), result(2, odd, odd)];
        write(&store, next).await.unwrap();
        store.post(&id("op"), answer("q", odd), 0).unwrap();
        fence
    };
    assert_eq!(fence, Fence(1));

    let store = place.open();
    assert_eq!(store.records(&id("op")).unwrap(), [odd]);
    assert_eq!(&*store.header(&id("op")).unwrap().agent, odd);
    assert_eq!(store.inbox(&id("op")).unwrap()[0].1, answer("q", odd));
    let messages = store.messages(&id("op")).unwrap();
    assert_eq!(messages[0].message, said(0, odd, odd).message);
    assert_eq!(messages[1].message, asked(1, "m1", odd, &[odd]).message);
    assert_eq!(tool_text(&messages[2].message), format!("The tool did not run. {odd}"));
}

#[tokio::test]
async fn parts_and_empty_answers_read_back() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let parts = Content::Parts(vec![
        jackline_model::Part::Text { text: "look".into() },
        jackline_model::Part::Image { url: "https://example.org/a.png".into() },
    ]);
    let bodies = [
        MessageBody::System { content: "s".into() },
        MessageBody::User { content: parts },
        MessageBody::Assistant { content: "".into(), reasoning: None, tool_calls: vec![] },
    ];
    let mut next = batch("op", fence, "r");
    next.rows = bodies
        .iter()
        .zip(2..)
        .map(|(body, place)| Message { id: format!("m{place}").into(), body: body.clone() }.at(place))
        .collect();
    write(&store, next).await.unwrap();
    let stored: Vec<_> = store.messages(&id("op")).unwrap().into_iter().skip(2).map(|row| row.message.body).collect();
    assert_eq!(stored, bodies);
}

trait At {
    fn at(self, place: u32) -> Row;
}

impl At for Message {
    fn at(self, place: u32) -> Row {
        Row::Message(PlacedMessage { place, message: self })
    }
}

#[tokio::test]
async fn a_consumed_answer_is_nowhere_on_the_disk() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let secrets: Vec<String> =
        (0..40).map(|n| format!("the-secret-of-{n:03}-{}", "x".repeat(n * 331 % 9_000))).collect();
    let posted: Vec<_> = secrets
        .iter()
        .enumerate()
        .map(|(n, secret)| store.post(&id("op"), answer(&format!("call-{n}"), secret), 0).unwrap())
        .collect();
    assert!(contains(&bytes_on_disk(&place.path()), "the-secret-of-007"));

    // Out of order, so that pages of the table are merged with private text on them.
    for start in [1, 0] {
        for item in posted.iter().skip(start).step_by(2) {
            let mut judged = batch("op", fence, "judged");
            judged.consumed = vec![*item];
            store.append(judged).unwrap();
        }
        store.flush(&id("op"), Durability::Committed).await.unwrap();
    }

    assert_eq!(store.inbox(&id("op")).unwrap(), []);
    assert!(!contains(&bytes_on_disk(&place.path()), "the-secret-of"));
}
