//! Which tools a hook is about.

use regex::{Regex, RegexBuilder};

/// A pattern on the name of a tool, searched in `identifier/apiName`.
///
/// No pattern, an empty one and `*` match every tool. Anything else is a regular expression of the
/// `regex` crate: found anywhere in the name unless it is anchored, with upper and lower case told
/// apart, in time linear in the name. A name of which a half is missing matches no real pattern.
///
/// ```
/// use jackline_hooks::Matcher;
/// let matcher = Matcher::new("^fs/read").unwrap();
/// assert!(matcher.matches("fs", "readFile"));
/// assert!(!matcher.matches("fs", "writeFile"));
/// assert!(Matcher::new("[").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Matcher {
    text: String,
    pattern: Option<Regex>,
}

impl Matcher {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// - [`MatcherError::Syntax`]: it is no regular expression of this dialect. Correct it.
    /// - [`MatcherError::Unsupported`]: it uses look-around or a back-reference. Write it without.
    /// - [`MatcherError::TooBig`]: compiled it would be too large. Use smaller counts.
    pub fn new(text: &str) -> Result<Self, MatcherError> {
        let pattern = match text {
            "" | "*" => None,
            text => Some(compile(text)?),
        };
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// Whether it accepts a tool.
    pub fn matches(&self, identifier: &str, api_name: &str) -> bool {
        match &self.pattern {
            None => true,
            Some(_) if identifier.is_empty() || api_name.is_empty() => false,
            Some(pattern) => pattern.is_match(&format!("{identifier}/{api_name}")),
        }
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Why a pattern is no matcher.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatcherError {
    /// It cannot be parsed.
    #[error("Invalid hook matcher regular expression `{0}`")]
    Syntax(String),
    /// It uses what an engine of linear time cannot have.
    #[error("Invalid hook matcher regular expression `{text}`: {construct} is not supported")]
    Unsupported {
        /// The pattern.
        text: String,
        /// The construct, by its usual name.
        construct: &'static str,
    },
    /// It needs too much memory.
    #[error("Invalid hook matcher regular expression `{text}`: its size compiled exceeds {bytes_max} bytes")]
    TooBig {
        /// The pattern.
        text: String,
        /// The limit.
        bytes_max: usize,
    },
}

fn compile(text: &str) -> Result<Regex, MatcherError> {
    RegexBuilder::new(text)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| explain(text, &error))
}

fn explain(text: &str, error: &regex::Error) -> MatcherError {
    if let regex::Error::CompiledTooBig(bytes_max) = error {
        return MatcherError::TooBig { text: text.to_owned(), bytes_max: *bytes_max };
    }
    // The crate tells these apart in its message only; a test notices if the wording changes.
    let message = error.to_string();
    if message.contains("look-around") {
        MatcherError::Unsupported { text: text.to_owned(), construct: "look-around" }
    } else if message.contains("backreference") {
        MatcherError::Unsupported { text: text.to_owned(), construct: "back-reference" }
    } else {
        MatcherError::Syntax(text.to_owned())
    }
}

/// A matcher that needs more is a mistake: a list of a hundred names needs a few kilobytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod oracle;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn matches(pattern: &str, identifier: &str, api_name: &str) -> bool {
        Matcher::new(pattern).unwrap().matches(identifier, api_name)
    }

    #[test]
    fn c01_empty_and_star_match_every_tool() {
        for pattern in ["", "*"] {
            assert!(matches(pattern, "fs", "readFile"));
            assert!(matches(pattern, "", "odd"));
        }
    }

    #[test]
    fn c02_a_search_keeps_no_state() {
        let matcher = Matcher::new("^fs/read").unwrap();
        for _ in 0..3 {
            assert!(matcher.matches("fs", "readFile"));
        }
        assert!(!matcher.matches("fs", "writeFile"));
        assert!(!matcher.matches("http", "readFile"));
    }

    #[test]
    fn c03_a_real_pattern_needs_both_names() {
        assert!(!matches(".", "", ""));
        assert!(!matches("readFile", "fs", ""));
    }

    #[test]
    fn c04_an_alternation_matches_exactly_its_names() {
        let pattern = "^(fs/readFile|http/get)$";
        assert!(matches(pattern, "fs", "readFile") && matches(pattern, "http", "get"));
        assert!(!matches(pattern, "fs", "get") && !matches(pattern, "http", "readFile"));
        assert!(!matches(pattern, "fs", "readFiles"));
    }

    #[test]
    fn c05_a_missing_identifier_has_no_text() {
        assert!(!matches("undefined/readFile", "", "readFile"));
        assert!(!matches("/readFile", "", "readFile"));
    }

    #[test]
    fn c130_patterns_are_searched_and_tell_case_apart() {
        let tools = [("fs", "readFile"), ("myfs", "readFile"), ("fs", "readFileSync"), ("net", "get")];
        let table = [
            ("^fs/readFile$", [true, false, false, false]),
            ("fs/read", [true, true, true, false]),
            ("^fs/", [true, false, true, false]),
            ("readFile$", [true, true, false, false]),
            ("^fs.readFile$", [true, false, false, false]),
            ("(?i)^FS/", [true, false, true, false]),
            ("^FS/", [false, false, false, false]),
        ];
        for (pattern, expected) in table {
            assert_eq!(
                tools.map(|(identifier, api_name)| matches(pattern, identifier, api_name)),
                expected,
                "{pattern}"
            );
        }
    }

    #[test]
    fn c131_a_costly_pattern_is_decided_in_linear_time_or_refused_by_size() {
        let started = Instant::now();
        let name = format!("{}!", "a".repeat(40_000));
        assert!(!matches("^(a+)+$", &name, &name));
        let error = Matcher::new(r"(\w{1,500}){1,500}").unwrap_err();
        assert!(error.to_string().contains("size"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a08_what_is_no_pattern_is_refused_and_a_missing_construct_is_named() {
        let text = |pattern: &str| Matcher::new(pattern).unwrap_err().to_string();
        assert_eq!(text("["), "Invalid hook matcher regular expression `[`");
        for pattern in ["^(?!fs/)", "(?=a)", "(?<=fs/)read", "(?<!fs/)read"] {
            assert!(text(pattern).ends_with("look-around is not supported"), "{pattern}");
        }
        assert!(text(r"(a)\1").ends_with("back-reference is not supported"));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: 512,
            failure_persistence: None,
            ..proptest::prelude::ProptestConfig::default()
        })]

        #[test]
        fn any_pattern_is_refused_or_does_what_is_written(
            pattern in "[a-z*^$./|()\\[\\]?+{}0-9\\\\!=<:]{0,12}",
            identifier in "[a-c/]{0,3}",
            api_name in "[a-cA]{0,3}",
        ) {
            oracle::agrees(&pattern, &identifier, &api_name);
        }

        #[test]
        fn the_name_of_a_tool_matches_itself_and_no_other(name in "[a-zA-Z]{1,8}/[a-zA-Z]{1,8}", other in "[a-zA-Z]{1,8}") {
            let (identifier, api_name) = name.split_once('/').unwrap();
            let matcher = Matcher::new(&format!("^{}$", regex::escape(&name))).unwrap();
            proptest::prop_assert!(matcher.matches(identifier, api_name));
            proptest::prop_assert_eq!(matcher.matches(identifier, &other), other == api_name);
        }
    }
}
