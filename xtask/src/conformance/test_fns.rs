use crate::source::{code_only, line_of};

/// A test function that the test runner runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestFn {
    /// The bare name.
    pub(crate) name: String,
    /// The line of its name, from 1.
    pub(crate) line: usize,
}

/// The test functions in a source text. An ignored test is none: nothing runs it.
pub(crate) fn test_fns(text: &str) -> Vec<TestFn> {
    let code = code_only(text);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(mark) = code[from..].find("#[") {
        let (attributes, after) = attributes_at(&code, from + mark);
        from = after;
        let is_test = attributes.iter().any(|attribute| is_test_attribute(attribute));
        let is_ignored = attributes.iter().any(|attribute| path_of(attribute) == "ignore");
        if !is_test || is_ignored {
            continue;
        }
        if let Some((name, at)) = fn_name_at(&code, after) {
            found.push(TestFn { name: name.to_owned(), line: line_of(&code, at) });
        }
    }
    found
}

/// The run of attributes that starts at `at`, and where the item behind it begins.
fn attributes_at(code: &str, at: usize) -> (Vec<&str>, usize) {
    let mut attributes = Vec::new();
    let mut at = at;
    while code[at..].starts_with("#[") {
        let end = attribute_end(code.as_bytes(), at + 1);
        attributes.push(code[at + 2..end].trim_end_matches(']').trim());
        at = end + (code[end..].len() - code[end..].trim_start().len());
    }
    (attributes, at)
}

fn attribute_end(code: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code[open..].iter().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 1 => return open + offset + 1,
            b']' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

fn is_test_attribute(attribute: &str) -> bool {
    let path = path_of(attribute);
    path == "test" || path.ends_with("::test")
}

fn path_of(attribute: &str) -> &str {
    attribute.split(['(', '=', ' ', '\n']).next().unwrap_or_default()
}

fn fn_name_at(code: &str, at: usize) -> Option<(&str, usize)> {
    let mut at = at;
    loop {
        let rest = &code[at..];
        let word = &rest[..rest.bytes().take_while(|byte| is_word(*byte)).count()];
        let next = at + word.len() + (rest[word.len()..].len() - rest[word.len()..].trim_start().len());
        match word {
            "pub" | "async" | "unsafe" | "const" => at = next,
            "fn" => {
                let name_len = code[next..].bytes().take_while(|byte| is_word(*byte)).count();
                return Some((&code[next..next + name_len], next));
            }
            _ => return None,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        test_fns(text).into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn test_functions_of_all_runners_are_found_with_their_line() {
        let text =
            "#[test]\nfn plain() {}\n#[tokio::test(flavor = \"multi_thread\")]\n#[cfg(unix)]\nasync fn later() {}\n";
        assert_eq!(
            test_fns(text),
            [TestFn { name: "plain".to_owned(), line: 2 }, TestFn { name: "later".to_owned(), line: 5 }]
        );
    }

    #[test]
    fn ignored_quoted_and_commented_tests_are_none() {
        assert_eq!(names("#[test]\n#[ignore = \"slow\"]\nfn a() {}\n// #[test]\n// fn b() {}\n"), [""; 0]);
        assert_eq!(names("let x = \"#[test] fn c() {}\";\n#[inline]\nfn d() {}"), [""; 0]);
    }
}
