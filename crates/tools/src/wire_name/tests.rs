use std::collections::BTreeSet;

use jackline_model::ToolKey;
use proptest::prelude::*;

use super::WireNames;

fn keys(texts: &[&str]) -> Vec<ToolKey> {
    texts.iter().map(|text| ToolKey::parse(text)).collect()
}

#[track_caller]
fn resolves(names: &WireNames, name: &str, key: &str) {
    assert_eq!(names.resolve(name), Ok(&ToolKey::parse(key)), "{name}");
}

#[track_caller]
fn check_all(keys: &[ToolKey]) {
    let names = WireNames::new(keys.iter().cloned());
    let mut seen = BTreeSet::new();
    for key in keys {
        let wire = names.name(key).unwrap();
        assert!((1..=64).contains(&wire.len()), "{wire}");
        assert!(wire.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'), "{wire}");
        assert!(seen.insert(wire.to_owned()), "{wire} stands for two tools");
        assert_eq!(names.resolve(wire), Ok(key));
    }
}

#[test]
fn a_plain_key_has_a_plain_name() {
    let names = WireNames::new(keys(&["fs/read", "clock"]));
    assert_eq!(names.name(&ToolKey::parse("fs/read")), Some("fs____read"));
    assert_eq!(names.name(&ToolKey::parse("clock")), Some("clock"));
    assert_eq!(names.name(&ToolKey::parse("fs/write")), None);
}

#[test]
fn c147_odd_names_fit_the_wire_and_lead_back() {
    let keys = [
        ToolKey::new("fs", "readFile"),
        ToolKey::new("calendar", "list.events"),
        ToolKey::new("calendar", "list-events"),
        ToolKey::new("GET:", "x"),
        ToolKey::new("查询", "天气"),
        ToolKey::new("查询", "时间"),
        ToolKey::new("", ""),
        ToolKey::new("a__", "b"),
        ToolKey::new("a", "__b"),
        ToolKey::new("a____b", "c"),
        ToolKey::new("a", "b____c"),
        ToolKey::new("long".repeat(20), "name"),
        ToolKey::new("long".repeat(20), "name2"),
    ];
    check_all(&keys);
}

#[test]
fn c147_a_short_form_is_the_same_in_every_registry() {
    let key = ToolKey::new("calendar", "list.events");
    let alone = WireNames::new([key.clone()]);
    let among = WireNames::new([ToolKey::parse("fs/read"), ToolKey::new("x", "y.z"), key.clone()]);
    assert_eq!(alone.name(&key), among.name(&key));
    assert!(alone.name(&key).unwrap().starts_with("calendar____list-events_"));
}

#[test]
fn a_bare_name_resolves_if_one_tool_has_it() {
    let names = WireNames::new(keys(&["fs/read", "archive/read", "fs/write"]));
    resolves(&names, "write", "fs/write");
    resolves(&names, "Write", "fs/write");
    assert!(names.resolve("read").is_err());
}

#[test]
fn garbled_separators_and_case_resolve_if_one_tool_fits() {
    let names = WireNames::new(keys(&["fs/readFile", "notes/add"]));
    for garbled in
        ["fs/readFile", "fs__readFile", "fs________readFile", "FS____READFILE", "fs.read_file", " fs-readFile "]
    {
        resolves(&names, garbled, "fs/readFile");
    }
    let twins = WireNames::new(keys(&["fs/read", "fsr/ead"]));
    resolves(&twins, "fs____read", "fs/read");
    assert!(twins.resolve("fsread").is_err());
}

#[test]
fn names_that_differ_in_case_only_want_the_exact_name() {
    let names = WireNames::new(keys(&["fs/read", "fs/Read"]));
    resolves(&names, "fs____Read", "fs/Read");
    resolves(&names, "Read", "fs/Read");
    assert!(names.resolve("FS____READ").is_err());
}

#[test]
fn c146_an_unknown_name_lists_the_nearest_first() {
    let names = WireNames::new(keys(&["notes/add", "fs/search", "fs/read"]));
    let unresolved = names.resolve("fs____search_filez").unwrap_err();
    assert_eq!(unresolved.available[0], "fs____search");
    assert_eq!(unresolved.available.len(), 3);
    assert_eq!(unresolved.key(), ToolKey::new("fs", "search_filez"));
}

#[test]
fn a_qualified_name_of_another_tool_never_falls_back_to_its_bare_part() {
    let names = WireNames::new(keys(&["fs/read"]));
    assert!(names.resolve("web____read").is_err());
    assert!(names.resolve("").is_err());
    assert!(names.resolve("____").is_err());
}

proptest! {
    #[test]
    fn any_set_of_keys_gets_different_names_that_lead_back(
        set in proptest::collection::btree_set(("[a_./é-]{0,40}", "[a_./é-]{0,40}"), 0..12)
    ) {
        let keys: Vec<_> = set.into_iter().map(|(identifier, api_name)| ToolKey::new(identifier, api_name)).collect();
        check_all(&keys);
    }
}
