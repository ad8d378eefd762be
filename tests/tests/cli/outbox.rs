//! Webhooks that are delivered by way of the store, by whatever process runs.

use serde_json::Value;

use crate::cli::home::{Home, Running, json_lines};

/// An agent that answers at once and tells the end of its run to this port, by way of the outbox.
fn home(port: u16) -> Home {
    Home::with_agent(
        &format!(
            "[[hook]]\nid = 'end'\ntype = 'onComplete'\n\
             webhook = {{ url = 'http://127.0.0.1:{port}/end', delivery = 'outbox', fallback = 'none' }}\n"
        ),
        "turns: [{text: done}]\n",
    )
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn listen(home: &Home, port: u16, words: &[&str]) -> Running {
    let port = port.to_string();
    let mut all = vec!["hooks", "listen", "--port", &port];
    all.extend(words);
    let mut receiver = home.start(&all);
    receiver.until_error("listening on ");
    receiver
}

fn outbox(home: &Home) -> Vec<Value> {
    let listed = home.run(&["hooks", "outbox", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    json_lines(&listed.out)
}

fn run(home: &Home) {
    let ran = home.run(&["run", "--agent", "agent.toml", "go"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn a_receiver_that_is_down_costs_the_run_nothing_and_is_told_later() {
    let port = free_port();
    let home = home(port);
    run(&home);
    let [waiting] = outbox(&home).try_into().unwrap();
    assert_eq!(waiting["attempts"], 1);
    assert_eq!(waiting["lastError"], "Hook HTTP request failed: network_error");
    let id = waiting["delivery"].as_str().unwrap();
    let shown = home.run(&["hooks", "outbox", "list"]);
    assert!(
        shown.out.contains(id) && shown.out.contains("attempts: 1, last: Hook HTTP request failed: network_error"),
        "{}",
        shown.out
    );

    let failed = home.run(&["hooks", "outbox", "retry", id]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("was not delivered: Hook HTTP request failed: network_error"), "{}", failed.err);

    let mut receiver = listen(&home, port, &[]);
    let retried = home.run(&["hooks", "outbox", "retry", id]);
    assert_eq!(retried.code, Some(0), "{}", retried.err);
    let told: Value = serde_json::from_str(&receiver.until("onComplete")).unwrap();
    assert_eq!((told["delivery"].as_str(), told["payload"]["reason"].as_str()), (Some(id), Some("done")));
    assert_eq!(outbox(&home), Vec::<Value>::new());
    let gone = home.run(&["hooks", "outbox", "retry", id]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.err.contains(&format!("there is no delivery `{id}` in the outbox")), "{}", gone.err);
}

#[test]
fn a_delivery_that_is_dropped_is_not_made() {
    let home = home(free_port());
    run(&home);
    let id = outbox(&home)[0]["delivery"].as_str().unwrap().to_owned();
    assert_eq!(home.run(&["hooks", "outbox", "drop", &id]).code, Some(0));
    assert_eq!(outbox(&home), Vec::<Value>::new());
    assert!(home.run(&["hooks", "outbox", "list"]).out.contains("nothing waits"));
    assert_eq!(home.run(&["hooks", "outbox", "drop", &id]).code, Some(2));
}

#[test]
fn a_process_that_is_killed_before_it_has_delivered_loses_nothing() {
    let port = free_port();
    let home = home(port);
    // The receiver takes the request and does not answer.
    let mut hanging = listen(&home, port, &["--delay", "600000"]);
    let runner = home.start(&["run", "--agent", "agent.toml", "go"]);
    let first: Value = serde_json::from_str(&hanging.until("onComplete")).unwrap();
    runner.signal("KILL");
    assert!(!runner.end().0.success());
    hanging.signal("KILL");
    hanging.end();
    let [waiting] = outbox(&home).try_into().unwrap();
    assert_eq!(waiting["delivery"], first["delivery"]);

    // The receiver is up again, and the next process that runs anything delivers both.
    let mut receiver = listen(&home, port, &[]);
    run(&home);
    let told = [receiver.until("onComplete"), receiver.until("onComplete")];
    let told = told.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let of_first = told.iter().find(|told| told["delivery"] == first["delivery"]).expect("it is delivered again");
    assert_eq!(of_first["payload"], first["payload"], "the same, word for word");
    assert_ne!(told[0]["delivery"], told[1]["delivery"]);
    assert_eq!(outbox(&home), Vec::<Value>::new());
}

/// What is printed after `deliver`, and how it ended.
fn deliver(home: &Home, words: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["hooks", "outbox", "deliver", "--json"];
    all.extend(words);
    let ran = home.run(&all);
    (ran.code, json_lines(&ran.out).remove(0))
}

#[test]
fn what_is_due_is_delivered_without_running_anything() {
    let port = free_port();
    let home = home(port);
    run(&home);
    // A second passes before the next try, so there is nothing to do yet, or it fails again.
    let (code, report) = deliver(&home, &[]);
    assert_eq!(report["delivered"], 0);
    assert_eq!(code, Some(if report["failed"] == 0 { 0 } else { 1 }), "{report}");

    let mut receiver = listen(&home, port, &[]);
    let (code, report) = deliver(&home, &["--wait"]);
    assert_eq!(
        (code, &report["delivered"], &report["waiting"]),
        (Some(0), &Value::from(1), &Value::from(0)),
        "{report}"
    );
    receiver.until("onComplete");
    let nothing = home.run(&["hooks", "outbox", "deliver"]);
    assert_eq!((nothing.code, &*nothing.out), (Some(0), "delivered 0, tries that failed: 0; 0 waiting, 0 given up\n"));
}

#[test]
fn two_processes_deliver_each_thing_once() {
    let port = free_port();
    let home = home(port);
    (0..6).for_each(|_| run(&home));
    let mut left: Vec<String> = outbox(&home).iter().map(|one| one["delivery"].as_str().unwrap().to_owned()).collect();
    left.sort();
    assert_eq!(left.len(), 6);
    let receiver = listen(&home, port, &[]);
    let both = [(); 2].map(|()| home.start(&["hooks", "outbox", "deliver", "--wait", "--json"]));
    let delivered = both.map(|one| {
        let (status, told) = one.end();
        assert!(status.success(), "{told}");
        json_lines(&told)[0]["delivered"].as_u64().unwrap()
    });
    assert_eq!(delivered.iter().sum::<u64>(), 6);
    receiver.signal("KILL");
    let mut told: Vec<String> =
        json_lines(&receiver.end().1).iter().map(|line| line["delivery"].as_str().unwrap().to_owned()).collect();
    told.sort();
    assert_eq!(told, left, "each once");
}

#[test]
fn a_delivery_in_hand_is_not_begun_anew_but_can_be_dropped() {
    let port = free_port();
    let home = home(port);
    run(&home);
    let id = outbox(&home)[0]["delivery"].as_str().unwrap().to_owned();
    let mut hanging = listen(&home, port, &["--delay", "600000"]);
    let holder = home.start(&["hooks", "outbox", "deliver", "--wait"]);
    hanging.until("onComplete");
    let name = format!("process {}", holder.child.id());
    let shown = home.run(&["hooks", "outbox", "list"]).out;
    assert!(shown.contains(&format!("being tried by {name}, attempts: ")), "{shown}");
    let refused = home.run(&["hooks", "outbox", "retry", &id]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains(&format!("is being tried right now, by {name}")), "{}", refused.err);
    assert_eq!(home.run(&["hooks", "outbox", "drop", &id]).code, Some(0));
    assert_eq!(outbox(&home), Vec::<Value>::new());
    holder.signal("INT");
    let (status, told) = holder.end();
    assert_eq!(status.code(), Some(4), "{told}");
    assert_eq!(outbox(&home), Vec::<Value>::new(), "it does not come back");
}

#[test]
fn a_delivery_that_takes_its_process_along_each_time_is_given_up_and_can_be_begun_anew() {
    let port = free_port();
    let home = home(port);
    run(&home);
    let mut hanging = listen(&home, port, &["--delay", "600000"]);
    let mut ids = std::collections::BTreeSet::new();
    let mut tries = 1;
    let dead = loop {
        let waiting = outbox(&home).remove(0);
        ids.insert(waiting["delivery"].as_str().unwrap().to_owned());
        assert!(tries <= 30, "it has a bound: {waiting}");
        if tries == 30 {
            let (code, report) = deliver(&home, &[]);
            assert_eq!((code, &report["dead"]), (Some(0), &Value::from(1)), "{report}");
            break outbox(&home).remove(0);
        }
        let killed = home.start(&["hooks", "outbox", "deliver", "--wait"]);
        let told: Value = serde_json::from_str(&hanging.until("onComplete")).unwrap();
        ids.insert(told["delivery"].as_str().unwrap().to_owned());
        killed.signal("KILL");
        killed.end();
        tries += 1;
    };
    assert_eq!((ids.len(), &dead["attempts"], &dead["dead"]), (1, &Value::from(30), &Value::from(true)));
    assert_eq!(dead["lastError"], "whoever tried it last ended before there was an answer");
    assert_eq!(deliver(&home, &["--wait"]).0, Some(1), "something was given up");
    assert!(home.run(&["hooks", "outbox", "list"]).out.contains("given up, attempts: 30"));

    hanging.signal("KILL");
    hanging.end();
    let mut receiver = listen(&home, port, &[]);
    let retried = home.run(&["hooks", "outbox", "retry", "--dead"]);
    assert_eq!(retried.code, Some(0), "{}", retried.err);
    assert!(
        ids.contains(
            serde_json::from_str::<Value>(&receiver.until("onComplete")).unwrap()["delivery"].as_str().unwrap()
        )
    );
    assert_eq!(outbox(&home), Vec::<Value>::new());
    let none = home.run(&["hooks", "outbox", "drop", "--dead"]);
    assert_eq!(none.code, Some(0), "{}", none.err);
    assert_eq!(home.run(&["hooks", "outbox", "retry"]).code, Some(2), "which one?");
}
