//! How much a run costs: bytes on the disk, and time of a commit. The time is printed only.

mod common;

use std::time::Instant;

use common::{Place, asked, batch, id, new_operation, result};
use jackline_runtime::journal::{Row, Store};
use jackline_runtime::machine::Durability;

#[tokio::test]
async fn four_hundred_steps_stay_within_three_times_their_messages() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let record = "r".repeat(350);
    for step in 0..STEPS {
        let at = 2 + 2 * step;
        let call = format!("call_{step:020}");
        let mut answered = batch("op", fence, &record);
        let words = "The file must be read before it can be changed. ".repeat(4);
        answered.rows = vec![Row::Message(asked(at, &format!("msg_{at:024}"), &words, &[&call]))];
        let mut settled = batch("op", fence, &record);
        settled.boundary = true;
        settled.rows = vec![result(at + 1, &call, &"fn main() { println!(); }\n".repeat(25))];
        settled.summary = Some(common::summary(jackline_model::Status::Running));
        store.append(answered).unwrap();
        store.append(settled).unwrap();
        if step % 4 == 0 {
            store.flush(&id("op"), Durability::Gate).await.unwrap();
        }
    }
    let messages: usize = store
        .messages(&id("op"))
        .unwrap()
        .iter()
        .map(|stored| serde_json::to_string(&stored.message).unwrap().len())
        .sum();
    drop(store);
    let file = std::fs::metadata(place.path()).unwrap().len();
    println!("{STEPS} steps: {messages} bytes of messages, {file} bytes of file");
    assert!(file <= 3 * messages as u64, "{file} bytes for {messages} bytes of messages");
}

#[tokio::test]
async fn the_cost_of_a_commit_is_printed() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    for durability in [Durability::Behind, Durability::Committed, Durability::Gate] {
        let (wall, cpu) = (Instant::now(), cpu_us());
        for _ in 0..COMMITS {
            store.append(batch("op", fence, &"r".repeat(350))).unwrap();
            store.flush(&id("op"), durability).await.unwrap();
        }
        store.flush(&id("op"), Durability::Committed).await.unwrap();
        let commits = u128::from(COMMITS);
        println!(
            "{durability:?}: {} us wall, {} us CPU",
            wall.elapsed().as_micros() / commits,
            (cpu_us() - cpu) / commits
        );
    }
}

/// What the process has used, in microseconds, as far as the clock of the system is that fine.
fn cpu_us() -> u128 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: u128 = stat
        .rsplit(')')
        .next()
        .into_iter()
        .flat_map(|rest| rest.split_whitespace().skip(11).take(2))
        .filter_map(|ticks| ticks.parse::<u128>().ok())
        .sum();
    ticks * 10_000
}

const STEPS: u32 = 400;
const COMMITS: u32 = 500;
