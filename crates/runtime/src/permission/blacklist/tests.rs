use serde_json::json;

use super::*;

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn audit(value: Value) -> Option<Finding> {
    Blacklist::standard().audit(&arguments(value))
}

fn rule(category: &str, policy: Option<Policy>) -> BlacklistRule {
    let matches = BTreeMap::from([("command".to_owned(), ArgumentMatcher::Prefix("drop".to_owned()))]);
    BlacklistRule { category: category.into(), matches, policy }
}

#[test]
fn every_category_finds_its_example() {
    for (policy, argument, example, category) in [
        (Policy::Always, "command", "rm -rf ~", "recursive delete of a home directory"),
        (Policy::Always, "command", "rm -rf /", "recursive delete of the root directory"),
        (Policy::Always, "command", "rm -rf .", "recursive delete of the current directory"),
        (Policy::Always, "command", "cat /etc/shadow", "password file"),
        (Policy::Always, "path", "/etc/passwd", "password file"),
        (Policy::Always, "command", "echo x >> /etc/sudoers", "sudo rights"),
        (Policy::Always, "path", "/etc/sudoers.d/x", "sudo rights"),
        (Policy::Always, "command", ":(){ :|:& };:", "fork bomb"),
        (Policy::Always, "command", "dd if=/dev/zero of=/dev/sda bs=1M", "raw write to a disk"),
        (Policy::Always, "command", "cat x > /dev/nvme0n1", "raw write to a disk"),
        (Policy::Always, "command", "mkfs.ext4 /dev/sdb1", "formatting or partitioning of a disk"),
        (Policy::Always, "command", "sysctl -w vm.swappiness=1", "kernel parameter"),
        (Policy::Always, "path", "/proc/sys/net/ipv4/ip_forward", "kernel parameter"),
        (Policy::Always, "command", "cat /dev/mem", "raw memory"),
        (Policy::Always, "command", "chown -R ann:ann /usr", "ownership or mode of system directories"),
        (Policy::Always, "command", "chmod u+s /bin/bash", "shell that runs as its owner"),
        (Policy::Always, "command", "chmod 4755 ./sh", "shell that runs as its owner"),
        (Policy::Required, "command", "ufw disable", "firewall"),
        (Policy::Required, "command", "iptables -F", "firewall"),
        (Policy::Required, "path", "/etc/ssh/sshd_config", "configuration of the SSH server"),
        (Policy::Required, "command", "apt-get remove -y systemd", "removal of core packages"),
        (Policy::Required, "command", "cat .env", "environment file"),
        (Policy::Required, "path", "app/.env.production", "environment file"),
        (Policy::Required, "command", "cat ~/.ssh/id_ed25519", "private SSH key"),
        (Policy::Required, "path", "/home/ann/.ssh/id_rsa", "private SSH key"),
        (Policy::Required, "path", "/home/ann/.aws/credentials", "cloud credentials"),
        (Policy::Required, "path", "/root/.docker/config.json", "container registry credentials"),
        (Policy::Required, "path", "/root/.kube/config", "cluster credentials"),
        (Policy::Required, "path", "/root/.git-credentials", "git credentials"),
        (Policy::Required, "command", "cat ~/.npmrc", "package registry credentials"),
        (Policy::Required, "command", "tail ~/.bash_history", "shell history"),
        (
            Policy::Required,
            "path",
            "/home/ann/.config/google-chrome/Chrome/Default/Login Data",
            "stored browser logins of Chromium and its kin",
        ),
        (Policy::Required, "path", "x.default/logins.json", "stored browser logins of Firefox and Safari"),
    ] {
        let found = audit(json!({ argument: example }));
        assert_eq!(found, Some(Finding { category: category.into(), policy }), "{example}");
    }
}

#[test]
fn perm_39_everyday_arguments_are_not_found() {
    for value in [
        json!({"command": "cargo test"}),
        json!({"command": "cat .env.example"}),
        json!({"command": "grep -r rm ."}),
        json!({"command": "ls /etc/passwords"}),
        json!({"command": "cat ~/.ssh/id_rsa.pub"}),
        json!({"command": "chmod 0755 build.sh"}),
        json!({"command": "chmod +x run.sh"}),
        json!({"command": "dd if=a of=b"}),
        json!({"command": "npm install --save-dev environment"}),
        json!({"path": "src/env.rs"}),
        json!({"path": "docs/firewall.md"}),
        json!({"content": "rm -rf /"}),
        json!({}),
    ] {
        assert_eq!(audit(value.clone()), None, "{value}");
    }
}

#[test]
fn perm_37_perm_38_argument_list_is_read_as_words() {
    assert!(audit(json!({"command": ["rm", "-rf", "/"]})).is_some());
    assert!(audit(json!({"command": ["bash", "-c", "rm -rf ~"]})).is_some());
    assert_eq!(audit(json!({"command": ["echo", "a; rm -rf /"]})), None);
}

#[test]
fn perm_28_all_rules_are_looked_at_and_the_strictest_counts() {
    let list = Blacklist::new(vec![rule("mild", Some(Policy::Required)), rule("hard", Some(Policy::Always))]);
    let found = list.audit(&arguments(json!({"command": "drop table"})));
    assert_eq!(found, Some(Finding { category: "hard".into(), policy: Policy::Always }));
}

#[test]
fn a_rule_without_policy_counts_as_always() {
    let list = Blacklist::new(vec![rule("bare", None)]);
    assert_eq!(list.audit(&arguments(json!({"command": "drop"}))).unwrap().policy, Policy::Always);
}

#[test]
fn perm_36_an_empty_blacklist_finds_nothing() {
    assert_eq!(Blacklist::empty().audit(&arguments(json!({"command": "rm -rf /"}))), None);
}

#[test]
fn rules_are_read_from_configuration_and_errors_name_the_word() {
    let read: BlacklistRule = serde_json::from_value(
        json!({"category": "hard", "match": {"command": {"type": "prefix", "pattern": "drop"}}}),
    )
    .unwrap();
    assert_eq!(read, rule("hard", None));
    let error = BlacklistRule::from_value(&json!({"category": "x", "mach": {}})).unwrap_err();
    assert_eq!(error.to_string(), "a blacklist rule has no key `mach`");
}
