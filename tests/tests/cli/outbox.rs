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
