//! The blacklist that Jackline ships with.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::blacklist::{Blacklist, BlacklistRule};
use super::config::Policy;
use super::matcher::{ArgumentMatcher, ShellPredicate};

/// The standard rules; each expression is compiled when a call first needs it.
pub(super) fn standard() -> Blacklist {
    static STANDARD: LazyLock<Blacklist> = LazyLock::new(|| {
        let deletes = DELETES.iter().map(|(category, predicate)| {
            rule(category, "command", ArgumentMatcher::SemanticShell(*predicate), Policy::Always)
        });
        let patterns = PATTERNS.iter().flat_map(|pattern| {
            let matcher = ArgumentMatcher::literal_regex(pattern.regex);
            let on = pattern.arguments.iter();
            on.map(move |argument| rule(pattern.category, argument, matcher.clone(), pattern.policy))
        });
        Blacklist::new(deletes.chain(patterns).collect())
    });
    STANDARD.clone()
}

fn rule(category: &str, argument: &str, matcher: ArgumentMatcher, policy: Policy) -> BlacklistRule {
    BlacklistRule {
        category: category.into(),
        matches: BTreeMap::from([(argument.to_owned(), matcher)]),
        policy: Some(policy),
    }
}

const DELETES: [(&str, ShellPredicate); 3] = [
    ("recursive delete of a home directory", ShellPredicate::DeletesHome),
    ("recursive delete of the root directory", ShellPredicate::DeletesRoot),
    ("recursive delete of the current directory", ShellPredicate::DeletesCurrentDirectory),
];

struct TextPattern {
    category: &'static str,
    policy: Policy,
    arguments: &'static [&'static str],
    regex: &'static str,
}

const COMMAND: &[&str] = &["command"];
const COMMAND_AND_PATH: &[&str] = &["command", "path"];

const fn always(category: &'static str, arguments: &'static [&'static str], regex: &'static str) -> TextPattern {
    TextPattern { category, policy: Policy::Always, arguments, regex }
}

const fn required(category: &'static str, arguments: &'static [&'static str], regex: &'static str) -> TextPattern {
    TextPattern { category, policy: Policy::Required, arguments, regex }
}

/// Text patterns. `[^;|&\n]*` keeps a match within one simple command.
const PATTERNS: [TextPattern; 22] = [
    always("password file", COMMAND_AND_PATH, r"/etc/+(\./+)*(passwd|shadow|gshadow|master\.passwd)\b"),
    always("sudo rights", COMMAND_AND_PATH, r"/etc/+(\./+)*sudoers\b|\bvisudo\b"),
    always("fork bomb", COMMAND, r":\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&"),
    always(
        "raw write to a disk",
        COMMAND,
        r"(\bdd\b[^;|&\n]*\bof=|>\s*|\b(tee|shred|wipefs|blkdiscard)\b[^;|&\n]*\s)/dev/(sd|hd|vd|xvd|nvme|mmcblk|r?disk|mapper/|dm-|md\d|loop)",
    ),
    always(
        "formatting or partitioning of a disk",
        COMMAND,
        r"\b(mkfs(\.\w+)?|mke2fs|mkswap|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted)\b[^;|&\n]*/dev/|\bdiskutil\s+(erase|partition|zero|secureErase)\w*",
    ),
    always(
        "kernel parameter",
        COMMAND_AND_PATH,
        r"\bsysctl\b[^;|&\n]*(\s-w\b|\s--write\b|\w=)|(>\s*|\btee\b[^;|&\n]*\s)/proc/sys/|^/proc/sys/",
    ),
    always("raw memory", COMMAND_AND_PATH, r"/dev/k?mem\b|/dev/port\b|/proc/kcore\b"),
    always(
        "ownership or mode of system directories",
        COMMAND,
        r"\bch(own|grp|mod)\b[^;|&\n]*\s(-[a-zA-Z]*R[a-zA-Z]*|--recursive)\b[^;|&\n]*\s/((bin|boot|dev|etc|lib\w*|opt|proc|root|sbin|sys|usr|var|home|Users|System|Library)/?)?\*?(\s|$|[;|&])",
    ),
    always(
        "shell that runs as its owner",
        COMMAND,
        r"\bchmod\b[^;|&\n]*\s([ugoa]*\+[rwxXt]*s\w*|[0-7]?[4-7][0-7]{3})\s[^;|&\n]*\b(ba|z|da|k|fi|c)?sh\b",
    ),
    required(
        "firewall",
        COMMAND,
        r"\bufw\s+(disable|reset)\b|\bip6?tables\s+(-F|--flush|-X|-P\s+\w+\s+ACCEPT)|\bnft\s+flush\b|\bpfctl\s+-d\b|\bsetenforce\s+0\b|\bsystemctl\s+(stop|disable|mask)\s+[^;|&\n]*(firewalld|ufw|iptables|nftables)|\bnetsh\s+advfirewall\b[^;|&\n]*\boff\b",
    ),
    required("configuration of the SSH server", COMMAND_AND_PATH, r"/etc/ssh/sshd_config"),
    required(
        "removal of core packages",
        COMMAND,
        r"\b(apt|apt-get|aptitude|yum|dnf|zypper|apk|brew|pacman|dpkg|rpm)\b[^;|&\n]*\s(remove|purge|erase|del|uninstall|autoremove|-R\w*|-e|-P|-r)\s[^;|&\n]*\b(systemd|glibc|libc6|libc|coreutils|bash|dpkg|apt|rpm|kernel|linux-image\S*|openssl|sudo|init|openssh-server|python3)\b",
    ),
    required(
        "environment file",
        COMMAND_AND_PATH,
        r#"(^|[\s'"=/<>:(])\.env(\.(local|dev|development|stage|staging|prod|production|test|secret|secrets)(\.local)?)?($|[\s'"|;&)<>])"#,
    ),
    required(
        "private SSH key",
        COMMAND_AND_PATH,
        r#"(^|[\s'"=/<>:(])id_(rsa|dsa|ecdsa|ed25519)(_sk)?($|[\s'"|;&)<>])|\.ssh/[\w-]+\.(pem|key)\b|\.ssh/(id_)?\*"#,
    ),
    required(
        "cloud credentials",
        COMMAND_AND_PATH,
        r"\.aws/(credentials|config)\b|\.config/gcloud\b|\.azure/|\.boto\b",
    ),
    required("container registry credentials", COMMAND_AND_PATH, r"\.docker/config\.json\b|containers/auth\.json\b"),
    required("cluster credentials", COMMAND_AND_PATH, r"\.kube/config\b|/etc/kubernetes/[\w/.-]*\.conf\b"),
    required("git credentials", COMMAND_AND_PATH, r"\.git-credentials\b|\.netrc\b|\.config/gh/hosts\.yml\b"),
    required(
        "package registry credentials",
        COMMAND_AND_PATH,
        r"(^|[\s'\x22=/<>:(])\.(npmrc|yarnrc(\.yml)?|pypirc)\b|\.cargo/credentials(\.toml)?\b",
    ),
    required(
        "shell history",
        COMMAND_AND_PATH,
        r"\.(bash|zsh|sh|python|mysql|psql|sqlite|node_repl|rediscli)_history\b|\.histfile\b|\bfish_history\b",
    ),
    required(
        "stored browser logins of Chromium and its kin",
        COMMAND_AND_PATH,
        r"(Chrome|Chromium|Brave-Browser|Edge|Opera|Vivaldi)[^;|&\n]*/(Login Data|Cookies|Web Data|Local State)",
    ),
    required(
        "stored browser logins of Firefox and Safari",
        COMMAND_AND_PATH,
        r"\blogins\.json\b|\bkey[34]\.db\b|\bcookies\.sqlite\b|Cookies\.binarycookies\b",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        for pattern in &PATTERNS {
            assert!(ArgumentMatcher::regex(pattern.regex).is_ok(), "{}", pattern.category);
        }
    }
}
