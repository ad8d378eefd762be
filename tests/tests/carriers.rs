//! One set of scenarios, three times: its hooks as handlers, as programs and as webhooks. What comes of it is the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod carriers {
    pub(crate) mod receiver;
}

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackline_hooks::transport::{HttpCarrier, HttpSettings, ProcessCarrier};
use jackline_hooks::{Carriers, Variables};
use jackline_runtime::drive::Told;
use jackline_runtime::journal::decode;
use jackline_scenario::{Outcome, Outside, Scenario, run, run_outside};

use crate::carriers::receiver::Receiver;

#[tokio::test]
async fn programs_give_the_same_answers_as_handlers() {
    let carriers = || Carriers {
        command: Some(Arc::new(ProcessCarrier::new(Arc::new(Variables::default())))),
        ..Carriers::default()
    };
    let command = ["/bin/sh", "-c", PROGRAM, "program"].map(str::to_owned).to_vec();
    let outside = Outside::Commands { command, carriers: Arc::new(carriers) };
    compare(&outside, "command", COMMAND_SCENARIOS_MIN).await;
}

#[tokio::test]
async fn webhooks_give_the_same_answers_as_handlers() {
    let receiver = Receiver::start();
    let carriers = || {
        let http = HttpCarrier::new(Arc::new(Variables::default()), HttpSettings::default()).unwrap();
        Carriers { webhook: Some(Arc::new(http)), ..Carriers::default() }
    };
    let outside = Outside::Webhooks { base_url: receiver.url(), carriers: Arc::new(carriers) };
    compare(&outside, "webhook", WEBHOOK_SCENARIOS_MIN).await;
}

/// Runs every scenario both ways.
async fn compare(outside: &Outside, carrier: &str, scenarios_min: usize) {
    let (mut compared, mut problems) = (0, Vec::new());
    for path in scenarios() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut scenario = Scenario::parse_bytes(&std::fs::read(&path).unwrap(), &name).unwrap();
        // Calls that run at once end in any order once their hooks take real time, and answers are given in that order.
        scenario.script.agent.concurrency = Some(1);
        scenario.script.expect.elapsed_ms = None;
        let Some(there) = run_outside(&scenario, outside).await else { continue };
        let here = run(&scenario).await;
        assert!(carried(&here).all(|by| by == "native"), "{name}");
        if carried(&here).next().is_none() {
            continue;
        }
        assert!(carried(&there).all(|by| by == carrier), "{name}");
        compared += 1;
        problems.extend([&here, &there].iter().filter(|run| !run.is_passed()).map(ToString::to_string));
        problems.extend(differences(&account(&here), &account(&there)).map(|line| format!("{name} {line}")));
    }
    assert!(problems.is_empty(), "by {carrier}:\n{}", problems.join("\n"));
    assert!(compared >= scenarios_min, "{compared} scenarios were compared by {carrier}");
}

/// The lines that only one of the two has; the order counts where there is no other difference.
fn differences(here: &[String], there: &[String]) -> impl Iterator<Item = String> {
    let mut rest = there.to_vec();
    let mut found = Vec::new();
    for line in here {
        match rest.iter().position(|other| other == line) {
            Some(at) => drop(rest.remove(at)),
            None => found.push(format!("handlers: {line}")),
        }
    }
    found.extend(rest.iter().map(|line| format!("outside: {line}")));
    if found.is_empty() && here != there {
        found.push("the same lines in another order".to_owned());
    }
    found.into_iter()
}

/// Everything that must be equal: what happened, what was said, what each hook answered. Not the time that it took.
fn account(outcome: &Outcome) -> Vec<String> {
    let mut lines = receipts(outcome);
    for (operation, records) in &outcome.journals {
        for record in records {
            let inputs = decode(record).unwrap().into_iter();
            lines.extend(inputs.map(|(input, _)| format!("{operation} {:?}", input.what)));
        }
    }
    // What nobody waits for is told in between, now here, now there.
    lines.sort();
    if outcome.told.iter().any(|event| matches!(event.what, Told::OperationStart { resumed: true, .. })) {
        // What had not been written down when the process was killed is told again.
        lines.dedup();
    }
    for (operation, messages) in &outcome.messages {
        lines.extend(messages.iter().map(|message| format!("{operation} {message:?}")));
    }
    lines
}

fn receipts(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    for event in &outcome.told {
        let Told::Hook { hook, asked } = &event.what else { continue };
        for receipt in asked {
            // What is outside the process fails and does not panic.
            let answer = receipt.answer.replace("panic", "error");
            let place = format!("{} step {} {hook}", event.operation, event.step);
            lines.push(format!("{place}: {} answered {answer}, decided {:?}", receipt.id, receipt.decided_by));
        }
    }
    lines
}

/// By which carriers the scripted hooks were reached.
fn carried(outcome: &Outcome) -> impl Iterator<Item = &str> {
    outcome.told.iter().flat_map(|event| {
        let asked = if let Told::Hook { asked, .. } = &event.what { asked.as_slice() } else { &[] };
        asked.iter().filter(|receipt| receipt.id != RECORDER).map(|receipt| &*receipt.carrier)
    })
}

/// The scenarios about hooks, and some of each other kind that has hooks.
fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files: Vec<PathBuf> = FOLDERS
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    files
}

const FOLDERS: [&str; 5] = ["hooks", "subagents", "crash", "approval", "compaction"];

/// Reads the event, then does what its last two arguments say.
const PROGRAM: &str = r#"cat > /dev/null
case "$1" in
  print) printf %s "$2" ;;
  hang) exec sleep 600 ;;
  *) exit 3 ;;
esac"#;

const RECORDER: &str = "scenario-recorder";

/// So that the comparison cannot become empty unnoticed.
const COMMAND_SCENARIOS_MIN: usize = 30;

const WEBHOOK_SCENARIOS_MIN: usize = 28;
