use std::collections::BTreeSet;

use super::home::{Home, json_lines, ran, workspace};

const KINDS: [&str; 16] = [
    "beforeStep",
    "afterStep",
    "onComplete",
    "onError",
    "beforeToolCall",
    "afterToolCall",
    "onToolCallError",
    "beforeHumanIntervention",
    "afterHumanIntervention",
    "onStopByHumanIntervention",
    "beforeCompact",
    "afterCompact",
    "onCompactError",
    "beforeCallAgent",
    "afterCallAgent",
    "onCallAgentError",
];

fn tour() -> String {
    workspace().join("examples/tour").display().to_string()
}

#[test]
fn the_tour_ends_as_stated_twice_in_a_row_and_changes_none_of_its_own_files() {
    let home = Home::new();
    for _ in 0..2 {
        let run = home.run(&["run", &tour()]);
        assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
        assert!(run.out.contains("all 7 operations ended as the tour states"), "{}", run.out);
        assert!(home.read(".jackline/tour/desk/out/orders.jsonl").contains("chair"));
    }
    assert!(!workspace().join("examples/tour/desk/out/orders.jsonl").exists());
}

#[test]
fn every_type_of_hook_occurs_in_the_tour_with_its_operation_and_step() {
    let home = Home::new();
    let run = home.run(&["run", &tour(), "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines = json_lines(&run.out);
    let hooks: Vec<_> = lines.iter().filter(|line| line["type"] == "hook").collect();
    assert!(hooks.iter().all(|line| line["operation"].as_str().is_some_and(|id| id.starts_with("op_"))));
    assert!(hooks.iter().all(|line| line["step"].is_u64()));
    let seen: BTreeSet<&str> = hooks.iter().filter_map(|line| line["hook"].as_str()).collect();
    assert_eq!(seen, BTreeSet::from(KINDS));
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["ok"]), (&"tour".into(), &true.into()));
}

#[test]
fn an_operation_that_ends_otherwise_fails_the_tour() {
    let home = Home::with_agent("", "turns:\n  - text: hello\n");
    home.write(
        "tour.toml",
        "title = 't'\n[[operation]]\ntitle = 'one'\nagent = 'agent.toml'\nprompt = 'hi'\nexpect = 'error'\n",
    );
    let run = ran(&mut home.command(&["run", "."]));
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("should have ended `error`, but ended `done`"), "{}", run.err);
}
