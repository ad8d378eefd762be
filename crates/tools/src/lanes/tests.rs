use jackline_model::ToolKey;
use serde_json::json;

use super::{LaneRequest, lanes, resource};

/// A batch of `(key, ordered, resource)`, as lane numbers.
#[track_caller]
fn check(batch: &[(&str, bool, Option<&str>)], expected: &[u32]) {
    let keys: Vec<_> = batch.iter().map(|(key, ..)| ToolKey::parse(key)).collect();
    let requests: Vec<_> = keys
        .iter()
        .zip(batch)
        .map(|(key, (_, ordered, resource))| LaneRequest { key, ordered: *ordered, resource: *resource })
        .collect();
    assert_eq!(lanes(&requests), expected);
}

#[test]
fn an_empty_batch_has_no_lanes() {
    check(&[], &[]);
}

#[test]
fn tool_33_edits_and_writes_to_one_path_share_a_lane() {
    let a = Some("a.txt");
    check(&[("fs/edit", false, a), ("fs/write", false, a), ("fs/edit", false, a)], &[0, 0, 0]);
}

#[test]
fn tool_34_edits_to_different_paths_and_reads_have_lanes_of_their_own() {
    check(
        &[
            ("fs/edit", false, Some("a.txt")),
            ("fs/edit", false, Some("b.txt")),
            ("fs/read", false, None),
            ("fs/read", false, None),
        ],
        &[0, 1, 2, 3],
    );
}

#[test]
fn tool_34_the_same_path_of_another_tool_is_another_resource() {
    check(&[("fs/edit", false, Some("a.txt")), ("s3/edit", false, Some("a.txt"))], &[0, 1]);
}

#[test]
fn tool_35_ordered_calls_share_a_lane_beside_the_others() {
    check(
        &[("mail/send", true, None), ("fs/read", false, None), ("mail/send", true, None), ("chat/post", true, None)],
        &[0, 1, 0, 2],
    );
}

#[test]
fn a_call_that_belongs_to_two_lanes_joins_them() {
    check(
        &[
            ("db/run", true, Some("users")),
            ("db/read", false, Some("orders")),
            ("db/run", true, Some("orders")),
            ("db/read", false, Some("users")),
            ("db/read", false, None),
        ],
        &[0, 0, 0, 0, 1],
    );
}

#[test]
fn a_resource_is_a_trimmed_string_that_is_not_empty() {
    let arguments = json!({"path": "  a.txt ", "empty": "  ", "number": 7});
    let arguments = arguments.as_object().unwrap();
    assert_eq!(resource(Some("path"), arguments), Some("a.txt"));
    for none in [Some("empty"), Some("number"), Some("absent"), None] {
        assert_eq!(resource(none, arguments), None);
    }
}
