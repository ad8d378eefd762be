//! What the documentation says of a matcher, said once more with a bare regular expression. Tests and the fuzzer use it.

use regex::Regex;

use crate::{Matcher, MatcherError};

/// Panics if a matcher does something else than what is written.
pub(super) fn agrees(pattern: &str, identifier: &str, api_name: &str) {
    match Matcher::new(pattern) {
        Ok(matcher) => {
            let twice = [0, 1].map(|_| matcher.matches(identifier, api_name));
            let expected = by_the_book(pattern, identifier, api_name);
            assert_eq!(twice.map(Some), [expected, expected], "{pattern:?} {identifier:?} {api_name:?}");
            assert_eq!(matcher.as_str(), pattern);
        }
        Err(MatcherError::TooBig { .. }) => {}
        Err(MatcherError::Syntax(_) | MatcherError::Unsupported { .. }) => {
            assert_eq!(by_the_book(pattern, identifier, api_name), None, "{pattern:?}");
        }
    }
}

fn by_the_book(pattern: &str, identifier: &str, api_name: &str) -> Option<bool> {
    let name = format!("{identifier}/{api_name}");
    match pattern {
        "" | "*" => Some(true),
        pattern => {
            let found = Regex::new(pattern).ok()?.is_match(&name);
            Some(found && !identifier.is_empty() && !api_name.is_empty())
        }
    }
}
