use crate::source::{blank, code_only};

/// The code without the items that only tests see: those behind `#[cfg(test)]`. Takes what [`code_only`] gives.
pub(crate) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code[from..].find(MARK) {
        let start = from + found;
        let end = item_end(code.as_bytes(), start + MARK.len());
        blank(&mut kept[start..end]);
        from = end;
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The tests inside a source text, everything else blanked.
pub(crate) fn tests_only(text: &str) -> String {
    let code = code_only(text);
    let rest = without_tests(&code);
    let pairs = code.bytes().zip(rest.bytes());
    let kept = pairs.map(|(byte, other)| if byte == other && byte != b'\n' { b' ' } else { byte });
    String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
}

/// Every path in the code that starts with `base::`, groups written out, and where it stands.
pub(crate) fn paths_from(code: &str, base: &str) -> Vec<(usize, Vec<String>)> {
    let start = format!("{base}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&start) {
        let is_start =
            at == 0 || !matches!(code.as_bytes()[at - 1], b':' | b'_' | b'$' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
        if is_start {
            let mut paths = Vec::new();
            tree(&code[at + start.len()..], &mut Vec::new(), &mut paths);
            found.extend(paths.into_iter().map(|path| (at, path)));
        }
    }
    found
}

/// Where `word` stands in the code as a whole word.
pub(crate) fn word_at(code: &str, word: &str) -> Vec<usize> {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let bytes = code.as_bytes();
    let places = code.match_indices(word).map(|(at, _)| at);
    places
        .filter(|at| is_edge(at.checked_sub(1).and_then(|at| bytes.get(at))) && is_edge(bytes.get(at + word.len())))
        .collect()
}

/// Reads one use tree and gives what is left behind it.
fn tree<'a>(code: &'a str, trunk: &mut Vec<String>, paths: &mut Vec<Vec<String>>) -> &'a str {
    let mut rest = code.trim_start();
    let depth = trunk.len();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = branches(group, trunk, paths);
            break;
        }
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if length == 0 {
            break;
        }
        trunk.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
        match rest.strip_prefix("::") {
            Some(next) => rest = next.trim_start(),
            None => {
                paths.push(trunk.clone());
                break;
            }
        }
    }
    trunk.truncate(depth);
    rest
}

fn branches<'a>(group: &'a str, trunk: &mut Vec<String>, paths: &mut Vec<Vec<String>>) -> &'a str {
    let mut rest = group;
    loop {
        rest = tree(rest, trunk, paths);
        let Some(end) = rest.find([',', '}']) else { return "" };
        let is_last = rest.as_bytes()[end] == b'}';
        rest = &rest[end + 1..];
        if is_last {
            return rest;
        }
    }
}

/// Where the item that starts at `at` ends: behind its semicolon or its closing brace.
fn item_end(code: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code[at..].iter().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + offset + 1;
                }
            }
            b';' if depth == 0 => return at + offset + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        paths_from(code, "crate").into_iter().map(|(_, path)| path.join("::")).collect()
    }

    #[test]
    fn test_items_are_left_out_whether_block_or_line() {
        let code =
            without_tests("fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { }\n}\n#[cfg(test)]\nmod t;\nfn c() {}");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), "fn a() {} fn c() {}");
    }

    #[test]
    fn only_the_tests_remain() {
        let code = tests_only("fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), "#[cfg(test)] mod tests { fn b() {} }");
    }

    #[test]
    fn groups_of_a_use_are_written_out() {
        assert_eq!(paths("use crate::{a::{B, c as d}, e};"), ["a::B", "a::c", "e"]);
        assert_eq!(paths("x(crate::a::b()) + my_crate::z + $crate::y"), ["a::b"]);
    }

    #[test]
    fn a_word_is_found_as_a_whole_only() {
        assert_eq!(word_at("rand random x_rand rand", "rand"), [0, 19]);
    }
}
