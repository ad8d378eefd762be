//! The page about hooks keeps its word: its files, as they stand there, do what it says.

use std::process::Command;

use crate::cli::home::{Home, Running, workspace};

/// The files that the page shows.
fn page_files(home: &Home) {
    let page = std::fs::read_to_string(workspace().join("docs/hooks.md")).unwrap();
    let mut count = 0;
    for part in page.split("<!-- file: ").skip(1) {
        let (name, rest) = part.split_once(" -->\n```").expect("a file is followed by its code");
        let (_, code) = rest.split_once('\n').unwrap();
        let (code, _) = code.split_once("\n```").expect("the code has an end");
        home.write(name, format!("{code}\n"));
        count += 1;
    }
    assert_eq!(count, 4, "the page shows two policies, an agent and its script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(home.path().join("policy.sh"), mode).unwrap();
    home.write("menu.txt", "soup\n");
    home.write("secret.txt", "1-2-3\n");
}

#[test]
fn the_service_in_python_decides_and_blocks_when_it_is_gone() {
    let home = Home::new();
    page_files(&home);
    // A free port in place of the page's.
    home.write("policy.py", home.read("policy.py").replace("8808", "0"));
    let mut python = Command::new("python3");
    python.arg("policy.py").current_dir(home.path()).stderr(std::process::Stdio::null());
    let mut service = Running::of(&mut python);
    let line = service.until("policy service on port");
    let port = line.rsplit(' ').next().unwrap().trim().to_owned();
    home.write("clerk.toml", home.read("clerk.toml").replace("8808", &port));

    decides_and_blocks_when_it_is_gone(&home, service);
}

#[test]
fn the_service_in_shell_decides_and_blocks_when_it_is_gone() {
    let home = Home::new();
    page_files(&home);
    let page = std::fs::read_to_string(workspace().join("docs/hooks.md")).unwrap();
    let typed = page.lines().find(|line| line.starts_with("$ jackline hooks listen --port 8808 --exec")).unwrap();
    // A free port in place of the page's.
    let typed = typed.replace("8808", "0");
    let mut service = home.start(&typed.split(' ').skip(2).collect::<Vec<_>>());
    let line = service.until_error("listening on ");
    let port = line.split("127.0.0.1:").nth(1).unwrap().split(' ').next().unwrap();
    home.write("clerk.toml", home.read("clerk.toml").replace("8808", port));
    decides_and_blocks_when_it_is_gone(&home, service);
}

fn decides_and_blocks_when_it_is_gone(home: &Home, service: Running) {
    let checked = home.run(&["hooks", "check", "clerk.toml"]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    assert!(checked.out.contains("the call would run"), "{}", checked.out);
    let ran = home.run(&["run", "--agent", "clerk.toml", "What is for lunch?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("✓ fs/read {\"path\":\"menu.txt\"} ran"), "{}", ran.out);
    assert!(ran.out.contains("✗ fs/read {\"path\":\"secret.txt\"} denied by the hook `policy`"), "{}", ran.out);
    assert!(ran.out.contains("Secrets stay here.") && !ran.out.contains("1-2-3"), "{}", ran.out);

    service.signal("KILL");
    let _ = service.end();
    let ran = home.run(&["run", "--agent", "clerk.toml", "What is for lunch?"]);
    assert_eq!(ran.out.matches("denied by the hook `policy`").count(), 2, "{}", ran.out);
}

#[test]
fn the_program_in_shell_decides_the_same() {
    let home = Home::new();
    page_files(&home);
    let page = std::fs::read_to_string(workspace().join("docs/hooks.md")).unwrap();
    let command = page.lines().find(|line| line.starts_with("command = { command = [\"./policy.sh\"]")).unwrap();
    let agent = home.read("clerk.toml");
    let webhook = agent.lines().find(|line| line.starts_with("webhook = ")).unwrap().to_owned();
    home.write("clerk.toml", agent.replace(&webhook, command));
    let ran = home.run(&["run", "--agent", "clerk.toml", "What is for lunch?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.matches("denied by the hook `policy`").count(), 1, "{}", ran.out);
    assert!(ran.out.contains("Secrets stay here.") && !ran.out.contains("1-2-3"), "{}", ran.out);
}
