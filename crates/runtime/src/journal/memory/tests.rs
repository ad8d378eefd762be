use jackline_model::{Lineage, Origin};

use super::*;
use crate::journal::suite::store_contract;

#[test]
fn the_store_in_memory_keeps_every_law() {
    store_contract(|| Arc::new(MemoryStore::new()));
}

#[test]
fn an_operation_has_one_owner_until_it_lets_go_or_dies() {
    let here = MemoryStore::new();
    let there = here.another_process();
    let id = OperationId::from("op-1");
    let mine = here.create(operation("op-1")).unwrap();
    let owned = StoreError::Owned { operation: id.clone(), owner: "process 1".to_owned() };
    assert_eq!(there.claim(&id), Err(owned));

    here.kill();
    let theirs = there.claim(&id).unwrap();
    assert!(theirs > mine);
    assert_eq!(here.append(batch(&id, mine)), Err(StoreError::LostOwnership(id.clone())));
    assert_eq!(there.append(batch(&id, theirs)), Ok(()));

    there.release(&id, theirs).unwrap();
    assert_eq!(there.append(batch(&id, theirs)), Err(StoreError::LostOwnership(id)));
}

#[test]
fn a_killed_process_writes_nothing_even_before_another_claims() {
    let here = MemoryStore::new();
    let fence = here.create(operation("op-1")).unwrap();
    here.kill();
    assert_eq!(here.append(batch(&"op-1".into(), fence)), Err(StoreError::LostOwnership("op-1".into())));
}

#[test]
fn a_planned_fault_hits_the_next_write_and_changes_nothing() {
    let store = MemoryStore::new();
    let id = OperationId::from("op-1");
    let fence = store.create(operation("op-1")).unwrap();
    let full = StoreError::Io { doing: "write", why: "the disk is full".to_owned() };
    store.fail_next(full.clone());
    store.fail_next(StoreError::Busy("a backup runs".to_owned()));
    let before = store.load(&id).unwrap();
    assert_eq!(store.append(batch(&id, fence)), Err(full));
    assert_eq!(store.post(&id, InboxItem::Stop(None), 5), Err(StoreError::Busy("a backup runs".to_owned())));
    assert_eq!(store.load(&id).unwrap(), before);
    assert_eq!(store.append(batch(&id, fence)), Ok(()));
}

fn operation(id: &str) -> NewOperation {
    NewOperation {
        id: id.into(),
        agent: "helper".into(),
        config: "".into(),
        config_hash: "hash".into(),
        lineage: Lineage::default(),
        parent_call: None,
        origin: Origin::default(),
        user: "local".into(),
        required_hooks: Vec::new(),
        caller_hooks: Vec::new(),
        messages: Vec::new(),
        created_at: 100,
    }
}

fn batch(operation: &OperationId, fence: Fence) -> Batch {
    Batch::new(operation.clone(), fence, "r")
}
