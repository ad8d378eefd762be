//! The laws of the outbox.

use super::fixtures::{batch, begun, commit};
use crate::journal::outbox::{
    ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, NewDelivery, OUTBOX_DEAD_MAX,
    OUTBOX_TRY_LEFT_OPEN, OUTBOX_WAITING_MAX,
};
use crate::journal::port::{Batch, Store};

pub(super) fn deliveries_are_kept(store: &dyn Store) {
    let (id, fence) = begun(store);
    let delivery = |name: &str| NewDelivery {
        id: name.to_owned(),
        hook: "audit".to_owned(),
        kind: "onComplete".to_owned(),
        webhook: "{}".to_owned(),
        payload: "{\"a\":1}".to_owned(),
    };
    let outbox = vec![delivery("dlv-1"), delivery("dlv-2")];
    commit(store, Batch { outbox: outbox.clone(), ..batch(&id, fence) }).unwrap();
    // A firing that is repeated after a crash brings its delivery again.
    commit(store, Batch { outbox, ..batch(&id, fence) }).unwrap();
    let kept = store.outbox(10).unwrap();
    assert_eq!(kept.iter().map(|stored| &*stored.delivery.id).collect::<Vec<_>>(), ["dlv-1", "dlv-2"]);
    assert_eq!((&kept[0].delivery, &kept[0].operation), (&delivery("dlv-1"), &id));

    assert!(!store.outbox_is_full().unwrap());

    let claim =
        |now, until, limit| store.claim_deliveries(&DeliveryClaim { now, until, limit, attempts_max: 3 }).unwrap();
    let claimed = claim(100, 200, 1);
    assert_eq!((claimed.deliveries.len(), claimed.next_at), (1, Some(0)));
    assert_eq!((claimed.deliveries[0].attempts, claimed.deliveries[0].holder.is_some()), (1, true));
    assert_eq!(claim(100, 200, 8).deliveries[0].delivery.id, "dlv-2");
    assert_eq!(claim(199, 300, 8), ClaimedDeliveries { deliveries: vec![], next_at: Some(200) });
    let change = |id, change| store.change_delivery(id, change).unwrap();
    let retry = |at| DeliveryChange::Retry { at };
    assert!(matches!(change("dlv-1", retry(199)), DeliveryChanged::InHand { .. }));
    // Whoever does not settle what it took in time has lost it.
    let again = claim(200, 300, 8).deliveries;
    assert_eq!(again.iter().map(|stored| stored.attempts).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(again[0].error.as_deref(), Some(OUTBOX_TRY_LEFT_OPEN));

    let failed = |attempt, retry_at| DeliveryChange::Failed { attempt, error: "down".to_owned(), retry_at };
    assert_eq!(change("dlv-1", failed(1, Some(250))), DeliveryChanged::NotThere, "that try is over");
    assert_eq!(change("dlv-1", failed(2, Some(250))), DeliveryChanged::Done);
    assert_eq!(change("dlv-1", failed(2, Some(950))), DeliveryChanged::NotThere, "nobody has it in hand");
    assert_eq!(change("dlv-2", failed(2, None)), DeliveryChanged::Done);
    let kept = store.outbox(10).unwrap();
    assert_eq!((kept[0].attempts, kept[0].due_at, kept[0].dead, kept[0].holder.is_some()), (2, 250, false, false));
    assert_eq!((kept[1].attempts, kept[1].dead, kept[1].error.as_deref()), (2, true, Some("down")));
    assert_eq!(claim(1_000, 2_000, 8).deliveries.len(), 1, "the dead are not handed out");
    // The third try is the last: without an end it is a failure, too.
    assert_eq!(claim(2_000, 3_000, 8), ClaimedDeliveries::default());
    assert!(store.outbox(10).unwrap().iter().all(|stored| stored.dead));

    for id in ["dlv-1", "dlv-2"] {
        assert_eq!(change(id, retry(3_500)), DeliveryChanged::Done);
    }
    assert_eq!(claim(3_500, 4_000, 8).deliveries[0].attempts, 1);
    assert_eq!(change("dlv-1", DeliveryChange::Delivered), DeliveryChanged::Done);
    assert_eq!(change("dlv-2", DeliveryChange::Drop), DeliveryChanged::Done, "also out of somebody's hand");
    assert_eq!(change("dlv-2", DeliveryChange::Drop), DeliveryChanged::NotThere);
    assert_eq!(change("dlv-2", retry(5_000)), DeliveryChanged::NotThere);
    assert_eq!(claim(9_000, 9_900, 8), ClaimedDeliveries::default());
}

pub(super) fn deliveries_are_bounded(store: &dyn Store) {
    let (id, fence) = begun(store);
    let delivery = |number: usize| NewDelivery {
        id: format!("dlv-{number}"),
        hook: "audit".to_owned(),
        kind: "onComplete".to_owned(),
        webhook: "{}".to_owned(),
        payload: "{}".to_owned(),
    };
    let put = |numbers: std::ops::Range<usize>| {
        let outbox = numbers.map(delivery).collect();
        commit(store, Batch { outbox, ..batch(&id, fence) }).unwrap();
    };
    // One try each, that comes to no end: they are dead, and the oldest are forgotten.
    let dying = OUTBOX_DEAD_MAX + 3;
    put(0..dying);
    let claim = DeliveryClaim { now: 1, until: 2, limit: dying, attempts_max: 1 };
    assert_eq!(store.claim_deliveries(&claim).unwrap().deliveries.len(), dying);
    assert_eq!(store.claim_deliveries(&DeliveryClaim { now: 2, ..claim }).unwrap(), ClaimedDeliveries::default());
    let kept = store.outbox(usize::MAX).unwrap();
    assert_eq!((kept.len(), kept[0].delivery.id.as_str()), (OUTBOX_DEAD_MAX, "dlv-3"));
    // The dead take no room.
    put(dying..dying + OUTBOX_WAITING_MAX - 1);
    assert!(!store.outbox_is_full().unwrap());
    put(dying + OUTBOX_WAITING_MAX..dying + OUTBOX_WAITING_MAX + 1);
    assert!(store.outbox_is_full().unwrap());
}
