use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn no_text_makes_the_analysis_fail(text in "[rmf \\-/~*'\"`$(){};&|<>\\\\\nenvS=é]{0,80}") {
        let found = deletes(&text);
        prop_assert!(found.len() <= ShellPredicate::ALL.len());
    }

    #[test]
    fn a_delete_of_the_root_is_found_behind_any_harmless_command(words in "[a-z]{1,8}( [a-z./-]{1,8}){0,3}") {
        let found = deletes(&format!("{words} && rm -rf /"));
        prop_assert!(found.contains(&ShellPredicate::DeletesRoot));
    }
}

fn assert_finds(command: &str, expected: &[ShellPredicate]) {
    assert_eq!(deletes(command), expected, "{command}");
}

#[test]
fn perm_37_recursive_delete_of_home_is_found_in_every_form() {
    for command in [
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -fr ~/.*",
        "rm -r -f /Users/ann",
        "rm -rf /Users/ann/",
        "rm -rf /home/ann",
        "rm -rf /home/ann/*",
        "rm -rf $HOME",
        "rm -rf \"$HOME\"",
        "rm -rf ${HOME}/",
        "rm -rf \"${HOME}\"/*",
        "rm --recursive --force ~",
        "rm ~ -rf",
        "rm -rf -- ~",
    ] {
        assert_finds(command, &[ShellPredicate::DeletesHome]);
    }
}

#[test]
fn perm_38_recursive_delete_of_root_is_found_behind_wrappers_and_quotes() {
    for command in [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf --no-preserve-root /",
        "sudo rm -rf /",
        "sudo -u root rm -rf /",
        "/bin/rm -rf /",
        "\\rm -rf /",
        "env A=1 rm -rf /",
        "env -S 'rm -rf /'",
        "nohup rm -rf / &",
        "chroot /mnt rm -rf /",
        "cd /tmp && rm -rf /",
        "ls; rm -rf /; ls",
        "true || rm -rf /",
        "rm '-rf' /",
        "rm \"-r\" \"-f\" \"/\"",
        "r'm' -rf /",
        "builtin rm -rf /",
        "command rm -rf /",
        "eval rm -rf /",
        "eval 'rm -rf /'",
        "coproc rm -rf /",
        "bash -c 'rm -rf /'",
        "bash -lc \"rm -rf /\"",
        "su root -c 'rm -rf /'",
        "sudo env X=1 nohup sh -c 'cd / && eval \"rm -rf /\"'",
        "X=rm; $X -rf /",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        "$'\\x72m' -rf /",
        "echo $(rm -rf /)",
        "echo \"`rm -rf /`\"",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "{rm,-rf,/}",
        "if true; then rm -rf /; fi",
        "cat <(rm -rf /)",
        "echo / | xargs rm -rf /",
        "rm -rf /tmp/../",
        "rm -rf / 2>/dev/null",
        "rm $FLAGS /",
        "find / -delete",
        "find / -exec rm -rf {} +",
        "timeout 5 rm -rf /",
        "trap 'rm -rf /' EXIT",
        "f() { rm -rf /; }; f",
        "rm -rf / &> log",
        "rm -rf /etc",
    ] {
        assert_finds(command, &[ShellPredicate::DeletesRoot]);
    }
}

#[test]
fn perm_39_what_only_looks_like_it_is_left_alone() {
    for command in [
        "rm -rf /tmp/build",
        "rm -rf ~/projects/old",
        "rm -rf $HOME/.cache/thing",
        "rm -rf /Users/ann/projects/x",
        "rm -rf ./node_modules",
        "rm -rf \"$TMPDIR/x\"",
        "rm /",
        "rm -f ~/notes.txt",
        "grep -r rm /",
        "grep -rf patterns /",
        "ls -r /home/ann/farm -rf",
        "ls /var/lib/rm-rf",
        "echo 'rm -rf /'",
        "echo rm -rf /",
        "git commit -m 'never rm -rf /'",
        "ls # rm -rf /",
        "find / -name '*.tmp' -delete",
        "npm run rm -- -rf",
        "cp -r / /backup",
        "",
    ] {
        assert_finds(command, &[]);
    }
}

#[test]
fn deletes_of_the_current_directory_are_found() {
    for command in ["rm -rf .", "rm -rf ./", "rm -rf *", "rm -rf ./*", "cd / && rm -rf *", "rm -rf .."] {
        assert_finds(command, &[ShellPredicate::DeletesCurrentDirectory]);
    }
}

#[test]
fn nesting_without_end_counts_as_dangerous() {
    assert_finds(&"$(".repeat(1_000), &[ShellPredicate::DeletesRoot]);
    assert_finds(&format!("{}ls", "eval ".repeat(1_000)), &[ShellPredicate::DeletesRoot]);
    assert_finds(&"env -S ".repeat(1_000), &[ShellPredicate::DeletesRoot]);
    assert_finds(&"find -exec ".repeat(100_000), &[ShellPredicate::DeletesRoot]);
    assert_finds(&"sudo ".repeat(100_000), &[]);
}
