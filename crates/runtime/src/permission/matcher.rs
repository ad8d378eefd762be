//! Matching one argument of a call.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value, json};

use super::config::ApprovalConfigError;
use super::shell;

/// What one argument must look like for a rule to apply.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentMatcher {
    /// `prefix:*`, or text in which `*` is any run of characters. Anchored at both ends.
    Pattern(String),
    /// Exactly this text.
    Exact(String),
    /// Text that starts with this.
    Prefix(String),
    /// Text in which the expression is found somewhere.
    Regex(CompiledPattern),
    /// A shell command that would do this.
    SemanticShell(ShellPredicate),
}

/// A regular expression that compiles, equal to another when the text of it is.
#[derive(Clone, Debug)]
pub struct CompiledPattern {
    text: Cow<'static, str>,
    regex: OnceLock<Regex>,
}

impl CompiledPattern {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| build(&self.text).expect("the text was compiled before, by us or by a test"))
    }
}

impl PartialEq for CompiledPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// What a shell command can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShellPredicate {
    /// It deletes a home directory with all that is in it.
    DeletesHome,
    /// It deletes the root directory, or a directory that the system lives in.
    DeletesRoot,
    /// It deletes the current directory, its parent, or all that is in one of them.
    DeletesCurrentDirectory,
}

impl ShellPredicate {
    /// All predicates.
    pub const ALL: [Self; 3] = [Self::DeletesHome, Self::DeletesRoot, Self::DeletesCurrentDirectory];

    /// The name in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeletesHome => "deletesHome",
            Self::DeletesRoot => "deletesRoot",
            Self::DeletesCurrentDirectory => "deletesCurrentDirectory",
        }
    }
}

impl ArgumentMatcher {
    /// Compiles a regular expression.
    ///
    /// # Errors
    ///
    /// The expression is not one that the `regex` crate takes (look-around and back-references are
    /// not), or compiles to more than a megabyte. Write it another way.
    pub fn regex(pattern: &str) -> Result<Self, ApprovalConfigError> {
        let regex = build(pattern)
            .map_err(|error| ApprovalConfigError::new(format!("`{pattern}` is no regular expression: {error}")))?;
        Ok(Self::Regex(CompiledPattern { text: pattern.to_owned().into(), regex: regex.into() }))
    }

    /// A regular expression that a test compiles; here it is compiled when it is first needed.
    pub(super) fn literal_regex(pattern: &'static str) -> Self {
        Self::Regex(CompiledPattern { text: pattern.into(), regex: OnceLock::new() })
    }

    /// Whether the argument fits. What is not text is compared as its JSON; the elements of a
    /// list, for a shell command, as the words of it.
    pub fn matches(&self, value: &Value) -> bool {
        let text = argument_text(value);
        match self {
            Self::Pattern(pattern) => matches_pattern(pattern, &text),
            Self::Exact(exact) => *exact == *text,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Regex(pattern) => pattern.regex().is_match(&text),
            Self::SemanticShell(predicate) => shell::deletes(&text).contains(predicate),
        }
    }

    /// Reads a matcher: a bare pattern, or `{type, pattern}`.
    pub(super) fn from_value(value: &Value) -> Result<Self, ApprovalConfigError> {
        match value {
            Value::String(pattern) => Ok(Self::Pattern(pattern.clone())),
            Value::Object(map) => Self::from_object(map),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(ApprovalConfigError::new(
                format!("a matcher is a pattern such as `git add:*`, or {{type, pattern}}; found {value}"),
            )),
        }
    }

    fn from_object(map: &Map<String, Value>) -> Result<Self, ApprovalConfigError> {
        let kind = text_member(map, "type")?;
        let operand_key = if kind == "semanticShell" { "predicate" } else { "pattern" };
        if let Some(key) = map.keys().find(|key| *key != "type" && *key != operand_key) {
            return Err(ApprovalConfigError::new(format!("a matcher of type `{kind}` has no key `{key}`")));
        }
        match kind {
            "exact" => Ok(Self::Exact(text_member(map, "pattern")?.to_owned())),
            "prefix" => Ok(Self::Prefix(text_member(map, "pattern")?.to_owned())),
            "wildcard" => Ok(Self::Pattern(text_member(map, "pattern")?.to_owned())),
            "regex" => Self::regex(text_member(map, "pattern")?),
            "semanticShell" => shell_predicate(text_member(map, "predicate")?).map(Self::SemanticShell),
            other => Err(ApprovalConfigError::new(format!(
                "unknown matcher type `{other}`; known: exact, prefix, wildcard, regex, semanticShell"
            ))),
        }
    }

    /// The configuration that [`from_value`](Self::from_value) reads as this.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Pattern(pattern) => json!(pattern),
            Self::Exact(pattern) => json!({"type": "exact", "pattern": pattern}),
            Self::Prefix(pattern) => json!({"type": "prefix", "pattern": pattern}),
            Self::Regex(pattern) => json!({"type": "regex", "pattern": pattern.text}),
            Self::SemanticShell(predicate) => json!({"type": "semanticShell", "predicate": predicate.as_str()}),
        }
    }
}

fn build(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build()
}

fn shell_predicate(name: &str) -> Result<ShellPredicate, ApprovalConfigError> {
    ShellPredicate::ALL.into_iter().find(|predicate| predicate.as_str() == name).ok_or_else(|| {
        let known = ShellPredicate::ALL.map(ShellPredicate::as_str).join(", ");
        ApprovalConfigError::new(format!("unknown shell predicate `{name}`; known: {known}"))
    })
}

fn text_member<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a str, ApprovalConfigError> {
    map.get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| ApprovalConfigError::new(format!("a matcher needs the text `{key}`")))
}

fn argument_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            Cow::Owned(items.iter().filter_map(Value::as_str).map(quoted_word).collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

/// A word of an argument list, quoted where a shell would otherwise read more than one.
fn quoted_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !c.is_whitespace() && !"'\"\\;&|()<>`".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

fn matches_pattern(pattern: &str, value: &str) -> bool {
    if let Some(prefix) = pattern.strip_suffix(":*") {
        return value.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    }
    matches_wildcard(pattern, value)
}

/// `*` is any run of characters; all else is literal. Linear in both lengths for each `*`.
fn matches_wildcard(pattern: &str, value: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == value };
    let Some(mut value) = value.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = value.find(piece) else { return false };
        value = &value[at + piece.len()..];
    }
    value.ends_with(tail)
}

/// The largest compiled expression: a list of a few hundred alternatives fits, an explosion of
/// counted repetitions does not.
const REGEX_BYTES_MAX: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> ArgumentMatcher {
        ArgumentMatcher::from_value(&json!(text)).unwrap()
    }

    fn typed(kind: &str, text: &str) -> ArgumentMatcher {
        ArgumentMatcher::from_value(&json!({"type": kind, "pattern": text})).unwrap()
    }

    #[test]
    fn perm_08_each_matcher_type() {
        assert!(typed("exact", "ls").matches(&json!("ls")));
        assert!(!typed("exact", "ls").matches(&json!("ls -l")));
        assert!(typed("prefix", "/tmp/").matches(&json!("/tmp/a")));
        assert!(!typed("prefix", "/tmp/").matches(&json!("/var/tmp/a")));
        assert!(typed("wildcard", "git *").matches(&json!("git push")));
        assert!(typed("regex", r"^v\d+$").matches(&json!("v12")));
        assert!(!typed("regex", r"^v\d+$").matches(&json!("v12b")));
        assert!(typed("exact", "7").matches(&json!(7)), "numbers are compared as text");
        assert!(typed("exact", "true").matches(&json!(true)));
    }

    #[test]
    fn perm_08_a_matcher_of_unknown_type_is_refused_by_name() {
        let error = ArgumentMatcher::from_value(&json!({"type": "glob", "pattern": "*"})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown matcher type `glob`; known: exact, prefix, wildcard, regex, semanticShell"
        );
    }

    #[test]
    fn perm_08_every_matcher_survives_its_own_configuration() {
        let matchers = [
            pattern("git add:*"),
            typed("exact", "a"),
            typed("prefix", "a"),
            typed("regex", "a+"),
            ArgumentMatcher::SemanticShell(ShellPredicate::DeletesHome),
        ];
        for matcher in matchers {
            assert_eq!(ArgumentMatcher::from_value(&matcher.to_value()).unwrap(), matcher);
        }
    }

    #[test]
    fn perm_09_prefix_pattern_matches_the_prefix_alone_or_before_a_colon() {
        let matcher = pattern("git add:*");
        for (value, expected) in [
            ("git add", true),
            ("git add:", true),
            ("git add:.", true),
            ("git add:--all", true),
            ("git commit", false),
            ("git added", false),
        ] {
            assert_eq!(matcher.matches(&json!(value)), expected, "{value}");
        }
    }

    #[test]
    fn perm_10_wildcards_are_anchored_at_both_ends() {
        for (text, value, expected) in [
            ("*.ts", "a.ts", true),
            ("*.ts", "a.tsx", false),
            ("test*", "test/a", true),
            ("test*", "my test", false),
            ("/src/*/index.*", "/src/a/b/index.rs", true),
            ("/src/*/index.*", "/src/index.rs", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "abb", true),
            ("a.c", "abc", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(pattern(text).matches(&json!(value)), expected, "{text} on {value}");
        }
    }
}
