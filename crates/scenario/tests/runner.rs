//! What a scenario that fails says.

use jackline_scenario::{Outcome, Scenario, run, run_paths};

async fn outcome(text: &str) -> Outcome {
    run(&Scenario::parse(text, "a.yaml").expect("the texts of these tests are right")).await
}

async fn problems(text: &str) -> String {
    outcome(text).await.problems.join("\n")
}

#[tokio::test]
async fn unused_and_missing_turns_fail() {
    let unused = "about: x\ninput: hi\nturns: [{reply: {text: a}}, {reply: {text: b}}]\nexpect: {reason: done}\n";
    assert_eq!(problems(unused).await, "`turns`: 1 of the turns of `tester` were not used");
    let missing = "about: x\ninput: hi\nexpect: {reason: error}\n";
    assert!(problems(missing).await.contains("was asked once more than there are turns"));
}

#[tokio::test]
async fn the_expected_and_the_real_sequence_stand_side_by_side() {
    let text = "about: x\ninput: hi\nturns: [{reply: {text: a}}]\nexpect:\n  hooks: [beforeStep, afterStep, onError]\n";
    let outcome = outcome(text).await;
    assert!(!outcome.is_passed());
    let shown = outcome.to_string();
    assert!(shown.starts_with("FAILED  a.yaml: x\n  - `expect.hooks`:\n"), "{shown}");
    assert!(shown.contains("  1   beforeStep   beforeStep\n"), "{shown}");
    assert!(shown.contains("- onError    -"), "{shown}");
    assert!(shown.contains("+            + onComplete"), "{shown}");
}

#[tokio::test]
async fn a_run_that_hangs_is_noticed() {
    let text = "about: x\ninput: hi\nturns: [{hang: true}]\nexpect: {reason: done}\n";
    assert!(problems(text).await.contains("the run is stuck: nothing runs"));
}

#[tokio::test]
async fn an_event_with_other_fields_is_shown() {
    let text = "about: x\ninput: hi\nturns: [{reply: {text: a}}]\nexpect:\n  hooks:\n  - {beforeStep: {stepIndex: 7}}\n  \
                - afterStep\n  - beforeStep\n  - afterStep\n  - onComplete\n";
    assert!(problems(text).await.contains("line 1, beforeStep: .stepIndex must be 7 and is 0"));
}

#[tokio::test]
async fn a_folder_without_scenarios_and_a_missing_file_are_told() {
    let folder = std::env::temp_dir().join(format!("jackline-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let summary = run_paths(&[folder.clone(), folder.join("none.yaml")]).await;
    std::fs::remove_dir(&folder).unwrap();
    assert!(!summary.is_passed());
    let text = summary.to_string();
    assert!(text.contains("there is no scenario") && text.contains("none.yaml: No such file"), "{text}");
}
