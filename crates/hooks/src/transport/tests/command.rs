//! Commands as hooks.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::*;

fn shell(script: &str) -> Vec<&str> {
    vec!["/bin/sh", "-c", script]
}

fn asked(script: &str, more: Value) -> CommandConfig {
    let mut value = json!({"command": shell(script), "responseHandling": "toolCall"});
    for (name, option) in more.as_object().unwrap() {
        value[name] = option.clone();
    }
    CommandConfig::from_json(&value).unwrap()
}

/// A directory of its own, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("jackline-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn ruled(hooks: impl Into<Hooks>) -> (Ruling<BeforeVerdict>, Delivery) {
    before(&local(&Vars::default(), hooks)).await
}

#[tokio::test]
async fn a_command_answers_like_a_webhook_in_every_mode() {
    for way in WAYS {
        for (script, expected, class) in [
            (r#"echo '{"decision":"allow"}'"#, None, AnswerClass::Allow),
            (r#"printf '{"decision":"deny","reason":" no "}'"#, Some(Some(" no ")), AnswerClass::Deny),
            (r#"echo '{"decision":"deny"}'"#, Some(None), AnswerClass::Deny),
            ("true", None, AnswerClass::Notification),
            ("echo heard", None, AnswerClass::Notification),
            (r#"echo '{"decision":"ask"}'"#, Some(Some(CONTROL_ERROR_REASON)), AnswerClass::Error),
            (r#"echo '{"decision":"allow"}'; exit 3"#, Some(Some(CONTROL_ERROR_REASON)), AnswerClass::Error),
            ("kill -9 $$", Some(Some(CONTROL_ERROR_REASON)), AnswerClass::Error),
            ("exec head -c 100000 /dev/zero", Some(Some(CONTROL_ERROR_REASON)), AnswerClass::Error),
        ] {
            let blocking = asked(script, json!({"onError": "block", "env": ["PATH"]}));
            let hooks = Hooks::new().command("b", HookKind::BeforeToolCall, blocking.clone()).command(
                "a",
                HookKind::AfterToolCall,
                blocking,
            );
            let vars = Vars::of([("PATH", "/usr/bin:/bin")]);
            let handle = handle(way, &vars, hooks);
            let (ruling, delivery) = before(&handle).await;
            assert_eq!((denial(&ruling), delivery.receipts[0].answer), (expected, class), "{way:?} {script}");
            let (ruling, _) = after(&handle, ToolRunResult::ok("raw")).await;
            assert_eq!(withheld(&ruling), expected, "{way:?} {script}");
        }
    }
}

#[tokio::test]
async fn by_default_a_command_that_fails_is_passed_over() {
    for command in [asked("exit 1", json!({})), CommandConfig::control(["/no/such/program"])] {
        let (ruling, delivery) = ruled(Hooks::new().command("c", HookKind::BeforeToolCall, command)).await;
        assert_eq!(denial(&ruling), None);
        assert!(delivery.receipts[0].fault.is_some());
    }
}

#[tokio::test]
async fn a_command_reads_the_event_and_gets_only_the_variables_it_lists() {
    let place = Place::new("environment");
    let vars = Vars::of([("LISTED", "yes"), ("SECRET", "s3cret")]);
    let script = format!("cat > {}; env > {}", place.file("event"), place.file("env"));
    let command = asked(&script, json!({"env": ["LISTED", "ABSENT", "PATH"]}));
    vars.set("PATH", "/usr/bin:/bin");
    let handle = local(&vars, Hooks::new().command("c", HookKind::BeforeToolCall, command));
    let _ = before(&handle).await;
    let event: Value = serde_json::from_str(&place.read("event")).unwrap();
    assert_eq!(
        (&event["hookId"], &event["args"], &event["userEmail"]),
        (&json!("c"), &json!({"path": "a"}), &json!("user_1@example.test"))
    );
    let environment = place.read("env");
    assert!(environment.contains("LISTED=yes") && !environment.contains("SECRET") && !environment.contains("HOME="));
}

#[tokio::test]
async fn a_deadline_ends_the_whole_process_group() {
    let place = Place::new("group");
    // The child of the shell holds the output open and would write a file, if it were let live.
    let script =
        format!("(read x < {fifo}; echo late > {late}) & wait", fifo = place.file("fifo"), late = place.file("late"));
    let made = std::process::Command::new("mkfifo").arg(place.file("fifo")).status().unwrap();
    assert!(made.success());
    let started = Instant::now();
    let command = asked(&script, json!({"timeout": 0.2, "onError": "block", "env": ["PATH"]}));
    let (ruling, delivery) = ruled(Hooks::new().command("c", HookKind::BeforeToolCall, command)).await;
    assert_eq!(denial(&ruling), Some(Some(CONTROL_ERROR_REASON)));
    assert_eq!(delivery.receipts[0].answer, AnswerClass::Timeout);
    assert!(started.elapsed() < Duration::from_secs(5));
    // Once nobody reads the pipe any more, it cannot be opened for writing. A killed process takes a moment to go.
    let open = || rustix::fs::open(place.file("fifo"), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
    let patience = Instant::now();
    while open().is_ok() && patience.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(open().unwrap_err(), Errno::NXIO);
    assert!(!place.0.join("late").exists());
}

#[tokio::test]
async fn what_a_command_leaves_running_does_not_hold_the_answer_up() {
    let (command, started) = (
        asked(r#"cat < /dev/zero > /dev/null & echo '{"decision":"deny"}'"#, json!({"timeout": 10, "env": ["PATH"]})),
        Instant::now(),
    );
    let vars = Vars::of([("PATH", "/usr/bin:/bin")]);
    let (ruling, _) = before(&local(&vars, Hooks::new().command("c", HookKind::BeforeToolCall, command))).await;
    assert_eq!(denial(&ruling), Some(None));
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn a_command_may_stop_reading() {
    let context =
        ToolCallContext { args: effective_args(&json!({"text": "x".repeat(1 << 20)}).to_string()), ..tool_context() };
    let command = asked(r#"echo '{"decision":"allow"}'"#, json!({"onError": "block"}));
    let handle = local(&Vars::default(), Hooks::new().command("c", HookKind::BeforeToolCall, command));
    let (ruling, _) = handle.dispatch_before_tool_call(|| BeforeToolCallEvent { context }).await;
    assert_eq!(denial(&ruling), None);
}

#[tokio::test]
async fn a_mock_is_held_until_all_controls_have_answered() {
    let mock = |id: &str, text: &str| {
        (id.to_owned(), asked(&format!(r#"echo '{{"mock":{{"content":"{text}","success":true}}}}'"#), json!({})))
    };
    let ((first, x), (second, y)) = (mock("1", "x"), mock("2", "y"));
    let mocking = || {
        Hooks::new().command(first.clone(), HookKind::BeforeToolCall, x.clone()).command(
            second.clone(),
            HookKind::BeforeToolCall,
            y.clone(),
        )
    };
    let native = || std::future::ready(MockAnswer::Mock(ToolRunResult::ok("native")));
    let (ruling, delivery) = ruled(mocking().mock_before_tool_call("n", move |_| native())).await;
    let BeforeVerdict::Mock(raw) = ruling.verdict() else { panic!("it is mocked") };
    assert_eq!((raw.as_result().content.as_str(), ruling.by().unwrap().hook.as_str()), ("x", "1"));
    assert_eq!(delivery.receipts.len(), 2);
    assert_eq!(delivery.receipts[0].decided_by, Some(RulingCause::Policy));
    let denying = asked(r#"echo '{"decision":"deny","reason":"no"}'"#, json!({}));
    let (ruling, delivery) = ruled(mocking().command("3", HookKind::BeforeToolCall, denying)).await;
    assert_eq!((denial(&ruling), delivery.receipts[0].decided_by), (Some(Some("no")), None));
}

#[tokio::test]
async fn handlers_before_a_command_that_mocks_come_before_its_mock() {
    let command = || asked(r#"echo '{"mock":{"content":"theirs","success":true}}'"#, json!({}));
    let native = || std::future::ready(MockAnswer::Mock(ToolRunResult::ok("ours")));
    let earlier = Hooks::new().observe_before_tool_call("hears", |_| async {});
    let (ruling, delivery) = ruled(earlier.command("mocks", HookKind::BeforeToolCall, command())).await;
    let BeforeVerdict::Mock(raw) = ruling.verdict() else { panic!("it is mocked") };
    assert_eq!(raw.as_result().content, "theirs");
    let asked: Vec<_> = delivery.receipts.iter().map(|receipt| (receipt.hook.as_str(), receipt.answer)).collect();
    assert_eq!(asked, [("mocks", AnswerClass::Mock), ("hears", AnswerClass::Ok)]);

    let earlier = Hooks::new().mock_before_tool_call("first", move |_| native());
    let (ruling, delivery) = ruled(earlier.command("mocks", HookKind::BeforeToolCall, command())).await;
    let BeforeVerdict::Mock(raw) = ruling.verdict() else { panic!("it is mocked") };
    assert_eq!((raw.as_result().content.as_str(), ruling.by().unwrap().hook.as_str()), ("ours", "first"));
    let decided: Vec<_> = delivery.receipts.iter().map(|receipt| receipt.decided_by).collect();
    assert_eq!(decided, [None, Some(RulingCause::Policy)]);
}

#[tokio::test]
async fn an_observer_is_told_and_what_it_prints_decides_nothing() {
    for way in WAYS {
        let place = Place::new(&format!("observer-{:?}-{}", way.mode, way.is_cold));
        let script = format!("cat > {}; echo '{{\"decision\":\"deny\"}}'", place.file("event"));
        let command = CommandConfig { env: vec!["PATH".to_owned()], ..CommandConfig::new(shell(&script)) };
        let vars = Vars::of([("PATH", "/usr/bin:/bin")]);
        let handle = handle(way, &vars, Hooks::new().command("o", HookKind::AfterToolCall, command));
        let delivery = fire(&handle, HookKind::AfterToolCall).await;
        assert_eq!(
            (delivery.receipts[0].answer, delivery.receipts[0].carrier),
            (AnswerClass::Ok, CarrierKind::Command)
        );
        let event: Value = serde_json::from_str(&place.read("event")).unwrap();
        assert_eq!(event["hookType"], "afterToolCall");
    }
}

#[tokio::test]
async fn a_program_is_found_from_the_directory_of_the_carrier() {
    let place = Place::new("directory");
    std::fs::write(place.0.join("policy.sh"), "#!/bin/sh\necho '{\"decision\":\"deny\",\"reason\":\"here\"}'\n")
        .unwrap();
    std::fs::set_permissions(place.0.join("policy.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let carrier = ProcessCarrier::new(Arc::new(Vars::default())).in_directory(&place.0);
    let config = Arc::new(CommandConfig::control(["./policy.sh"]));
    let request = CommandRequest { config, kind: HookKind::BeforeToolCall, payload: serde_json::Map::new() };
    let reply = carrier.ask(request).await.unwrap();
    assert_eq!(reply, CommandReply::Control(ControlReply::Deny { reason: Some("here".to_owned()) }));
}
