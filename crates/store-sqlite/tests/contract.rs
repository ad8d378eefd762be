//! The laws of every store, and what reads back from a file exactly as it was written.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use std::cell::RefCell;
use std::sync::Arc;

use common::{
    Place, answer, approval_of, asked, batch, bytes_on_disk, contains, decided, id, new_operation, result, said,
    summary, write,
};
use jackline_model::{Content, Message, MessageBody, Reason, Status};
use jackline_runtime::journal::suite::store_contract;
use jackline_runtime::journal::{Fence, InboxItem, PlacedMessage, PostedVerdict, Row, Store, StoreError};
use jackline_runtime::machine::Durability;

#[test]
fn the_store_keeps_every_law() {
    let places = RefCell::new(Vec::new());
    store_contract(|| {
        let place = Place::new();
        let store = Arc::new(place.open());
        places.borrow_mut().push(place);
        store
    });
}

#[test]
fn a_reader_sees_what_was_appended_without_waiting_for_it() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    store.append(batch("op", fence, "r1")).unwrap();
    assert_eq!(store.records(&id("op")).unwrap(), ["r1"]);
}

fn tool_text(message: &Message) -> String {
    let MessageBody::Tool { content, success: false, .. } = &message.body else {
        panic!("{message:?} is no failed result");
    };
    content.to_string()
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
    ask.rows = vec![Row::Message(asked(2, "m2", "", &["a", "b", "c", "d"]))];
    ask.approval = Some(approval);
    ask.summary = Some(summary(Status::WaitingForHuman));
    write(store, ask).await.unwrap();
    fence
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
        answer("d", "x"),
        InboxItem::ChildEnded { child: id("child"), call: 7 },
        InboxItem::Stop(Some("ticket-7".into())),
        InboxItem::Stop(None),
    ];
    let ids: Vec<_> = items.iter().map(|item| store.post(&id("op"), item.clone(), 0).unwrap()).collect();
    let stored = store.inbox(&id("op")).unwrap();
    assert_eq!(stored, ids.iter().copied().zip(items.iter().cloned()).collect::<Vec<_>>());

    let mut consume = batch("op", fence, "consumed");
    consume.consumed = ids[..6].to_vec();
    write(&store, consume).await.unwrap();
    assert_eq!(store.inbox(&id("op")).unwrap(), [(ids[6], InboxItem::Stop(None))]);
}

#[tokio::test]
async fn the_version_changes_when_another_store_writes() {
    let place = Place::new();
    let mine = place.open();
    let other = place.open();
    mine.create(new_operation("op")).unwrap();
    let before = mine.version().unwrap();
    assert_eq!(mine.version().unwrap(), before);
    other.post(&id("op"), InboxItem::Stop(None), 0).unwrap();
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
        let mut next = batch("op", fence, &on_one_line(odd));
        next.rows = vec![Row::Message(asked(1, "m1", odd, &[odd, "q"])), result(2, odd, odd)];
        write(&store, next).await.unwrap();
        store.post(&id("op"), answer("q", odd), 0).unwrap();
        fence
    };
    assert_eq!(fence, Fence(1));

    let store = place.open();
    assert_eq!(store.records(&id("op")).unwrap(), [on_one_line(odd)]);
    assert_eq!(&*store.header(&id("op")).unwrap().agent, odd);
    assert_eq!(store.inbox(&id("op")).unwrap()[0].1, answer("q", odd));
    let messages = store.messages(&id("op")).unwrap();
    assert_eq!(messages[0].message, said(0, odd, odd).message);
    assert_eq!(messages[1].message, asked(1, "m1", odd, &[odd, "q"]).message);
    assert_eq!(tool_text(&messages[2].message), format!("The tool did not run. {odd}"));
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', "")
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
    let calls: Vec<String> = (0..secrets.len()).map(|n| format!("call-{n}")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let mut parked = batch("op", fence, "parked");
    parked.rows = vec![Row::Message(asked(2, "m2", "", &calls))];
    store.append(parked).unwrap();
    let posted: Vec<_> = secrets
        .iter()
        .zip(&calls)
        .map(|(secret, call)| store.post(&id("op"), answer(call, secret), 0).unwrap())
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
