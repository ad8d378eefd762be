//! Where a path in a shell command leads, as far as its text tells.

/// What deleting a target would take with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A whole home directory, or all of them.
    Home,
    /// The root, or a directory that the system lives in.
    Root,
    /// The current directory, one above it, or all that is in it.
    CurrentDirectory,
    /// Anything else.
    Elsewhere,
}

/// Classifies the target of a recursive delete.
///
/// `.` and `..` are resolved on the text, and a last name that any file would fit stands for the
/// directory that it is in.
pub(super) fn classify(target: &str) -> Target {
    let target = target.replace('\\', "/");
    let (base, rest) = split_base(&target);
    let mut names: Vec<&str> = Vec::new();
    let mut is_above_base = false;
    for name in rest.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == ".." {
            is_above_base |= names.pop().is_none();
        } else {
            names.push(name);
        }
    }
    while names.last().is_some_and(|name| fits_any_name(name)) {
        names.pop();
    }
    match base {
        Base::Home if names.is_empty() || is_above_base => Target::Home,
        Base::Home => Target::Elsewhere,
        Base::Current if names.is_empty() || is_above_base => Target::CurrentDirectory,
        Base::Current => Target::Elsewhere,
        Base::Root => classify_absolute(&names),
    }
}

#[derive(Clone, Copy)]
enum Base {
    Root,
    Home,
    Current,
}

fn split_base(target: &str) -> (Base, &str) {
    for variable in HOME_VARIABLES {
        if let Some(rest) = target.strip_prefix(variable)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return (Base::Home, rest);
        }
    }
    if let Some(rest) = target.strip_prefix("${HOME") {
        // `${HOME}`, and forms with a default such as `${HOME:?}`.
        return (Base::Home, rest.split_once('}').map_or("", |(_, rest)| rest));
    }
    if let Some(rest) = target.strip_prefix('~') {
        // `~` and `~somebody`.
        return (Base::Home, rest.split_once('/').map_or("", |(_, rest)| rest));
    }
    for variable in CURRENT_VARIABLES {
        if let Some(rest) = target.strip_prefix(variable)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return (Base::Current, rest);
        }
    }
    match target.strip_prefix('/') {
        Some(rest) => (Base::Root, rest),
        None => match target.split_once(":/") {
            Some((drive, rest)) if drive.len() == 1 => (Base::Root, rest),
            Some(_) | None => (Base::Current, target),
        },
    }
}

fn classify_absolute(names: &[&str]) -> Target {
    match names {
        [] => Target::Root,
        [only] if HOME_PARENTS.contains(only) || *only == "root" => Target::Home,
        [only] if SYSTEM_DIRECTORIES.contains(only) => Target::Root,
        [parent, _] if HOME_PARENTS.contains(parent) => Target::Home,
        [..] => Target::Elsewhere,
    }
}

/// Whether a name is a wildcard that fits every file, or every hidden one: `*`, `.*`, `?*`.
fn fits_any_name(name: &str) -> bool {
    name.contains('*') && name.chars().all(|c| "*.?[]!^".contains(c))
}

const HOME_VARIABLES: [&str; 3] = ["$HOME", "%USERPROFILE%", "$env:USERPROFILE"];
const CURRENT_VARIABLES: [&str; 2] = ["$PWD", "${PWD}"];
const HOME_PARENTS: [&str; 2] = ["home", "Users"];

/// Directories right below the root that a system does not start without.
pub(super) const SYSTEM_DIRECTORIES: [&str; 20] = [
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Applications",
    "Library",
    "System",
    "Windows",
    "private",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_resolved_before_they_are_judged() {
        for (target, expected) in [
            ("/", Target::Root),
            ("//", Target::Root),
            ("/*", Target::Root),
            ("/.", Target::Root),
            ("/tmp/..", Target::Root),
            ("/*/*", Target::Root),
            ("/etc/", Target::Root),
            ("/usr/*", Target::Root),
            ("C:/", Target::Root),
            ("/tmp/build", Target::Elsewhere),
            ("/usr/local/share/x", Target::Elsewhere),
            ("~", Target::Home),
            ("~/", Target::Home),
            ("~/*", Target::Home),
            ("~/.*", Target::Home),
            ("~ann", Target::Home),
            ("~/x/..", Target::Home),
            ("~/..", Target::Home),
            ("$HOME", Target::Home),
            ("${HOME}/", Target::Home),
            ("${HOME:?}/*", Target::Home),
            ("/Users/ann", Target::Home),
            ("/home/ann/", Target::Home),
            ("/home", Target::Home),
            ("/root", Target::Home),
            ("%USERPROFILE%", Target::Home),
            ("~/projects", Target::Elsewhere),
            ("$HOMEPAGE", Target::Elsewhere),
            ("/home/ann/projects", Target::Elsewhere),
            (".", Target::CurrentDirectory),
            ("./", Target::CurrentDirectory),
            ("*", Target::CurrentDirectory),
            ("./*", Target::CurrentDirectory),
            ("..", Target::CurrentDirectory),
            ("build/..", Target::CurrentDirectory),
            ("$PWD", Target::CurrentDirectory),
            ("build", Target::Elsewhere),
            ("./build/*.o", Target::Elsewhere),
        ] {
            assert_eq!(classify(target), expected, "{target}");
        }
    }
}
