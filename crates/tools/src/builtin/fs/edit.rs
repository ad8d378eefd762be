//! `fs/edit`.

use std::io::Read as _;
use std::sync::PoisonError;

use serde::Deserialize;

use super::write::replace;
use crate::builtin::Refusal;
use crate::builtin::blocking::Cancel;
use crate::builtin::root::{Root, explained, open_file};
use crate::limits;

#[derive(Deserialize)]
pub(super) struct EditArguments {
    path: String,
    old: String,
    new: String,
}

pub(super) fn edit(root: &Root, arguments: EditArguments, cancel: &Cancel) -> Result<String, Refusal> {
    let EditArguments { path, old, new } = arguments;
    let _changing = root.changes.lock().unwrap_or_else(PoisonError::into_inner);
    let target = root.existing(&path)?;
    let mut bytes = Vec::new();
    open_file(&target)
        .and_then(|file| file.take(limits::EDIT_FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| explained(&path, &error))?;
    if bytes.len() as u64 > limits::EDIT_FILE_BYTES_MAX {
        return Err(Refusal(format!("`{path}` is too large to edit.")));
    }
    let text = String::from_utf8(bytes).map_err(|_| Refusal(format!("`{path}` is not UTF-8 text.")))?;
    match replaced(&text, &old, &new)? {
        Replaced::Now { text, line } => {
            replace(&target, text.as_bytes(), &path, cancel)?;
            Ok(format!("Replaced the text at line {line} of `{}`.", root.shown(&target)))
        }
        Replaced::Before { line } => {
            Ok(format!("`{}` has the new text already, at line {line}; nothing was changed.", root.shown(&target)))
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Replaced {
    /// The text as it is to be.
    Now { text: String, line: usize },
    /// The edit was made before: by this call, before a crash, or by another.
    Before { line: usize },
}

fn replaced(text: &str, old: &str, new: &str) -> Result<Replaced, Refusal> {
    if old.is_empty() {
        return Err(Refusal("`old` is empty. Use fs/write to write a whole file.".to_owned()));
    }
    if old == new {
        return Err(Refusal("`old` and `new` are the same.".to_owned()));
    }
    let places = occurrences(text, old);
    if let Some(start) = made_before(text, &places, old, new) {
        return Ok(Replaced::Before { line: line_of(text, start) });
    }
    match places[..] {
        [] => Err(not_found(text, old, new)),
        [start] => {
            let text_after = [&text[..start], new, &text[start + old.len()..]].concat();
            Ok(Replaced::Now { text: text_after, line: line_of(text, start) })
        }
        [..] => Err(not_unique(text, &places)),
    }
}

/// Where the edit stands in the text already: `new` does, once, and every `old` inside it. That makes
/// a second run of the same edit harmless although `new` contains `old`.
fn made_before(text: &str, places: &[usize], old: &str, new: &str) -> Option<usize> {
    let [start] = occurrences(text, new)[..] else { return None };
    let is_inside = |place: &usize| start <= *place && place + old.len() <= start + new.len();
    (!places.is_empty() && places.iter().all(is_inside)).then_some(start)
}

/// Where a text occurs, overlapping places included; a few are enough to know that it is not unique.
fn occurrences(text: &str, part: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(place) = text.get(from..).filter(|_| !part.is_empty()).and_then(|rest| rest.find(part)) {
        places.push(from + place);
        if places.len() == limits::EDIT_PLACES_MAX {
            break;
        }
        from = text.ceil_char_boundary(from + place + 1);
    }
    places
}

fn not_unique(text: &str, places: &[usize]) -> Refusal {
    let lines: Vec<_> = places.iter().map(|place| line_of(text, *place).to_string()).collect();
    Refusal(format!(
        "`old` occurs more than once, at lines {}. Give more of the lines around the place you mean.",
        lines.join(", ")
    ))
}

fn not_found(text: &str, old: &str, new: &str) -> Refusal {
    let hint = if let [place] = occurrences(text, new)[..] {
        format!(" `new` does, at line {}: the edit may have been made before.", line_of(text, place))
    } else if text.contains("\r\n") && !old.contains("\r\n") && old.contains('\n') {
        " The file ends its lines with \\r\\n.".to_owned()
    } else if let Some(line) = nearly(text, old) {
        format!(" A text that differs in white space only stands at line {line}: read the file there.")
    } else {
        " Read the file: it may have changed.".to_owned()
    };
    Refusal(format!("`old` does not occur in the file.{hint}"))
}

/// The line at which the lines of `old` stand, if white space at their ends is ignored.
fn nearly(text: &str, old: &str) -> Option<usize> {
    let wanted: Vec<_> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let position = lines.windows(wanted.len().max(1)).position(|window| window == wanted)?;
    Some(position + 1)
}

fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Replaced, replaced};

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, expected: &str) {
        let Replaced::Now { text: edited, .. } = replaced(text, old, new).unwrap() else { panic!("made before") };
        assert_eq!(edited, expected);
        // A second run of the same edit changes nothing more.
        assert!(!matches!(replaced(&edited, old, new), Ok(Replaced::Now { .. })), "{edited}");
    }

    #[track_caller]
    fn refuse(text: &str, old: &str, new: &str, hint: &str) {
        let Err(Refusal(problem)) = replaced(text, old, new) else { panic!("replaced") };
        assert!(problem.contains(hint), "{problem}");
    }

    #[test]
    fn a_unique_text_is_replaced_once() {
        check("a\nb\nc\n", "b\n", "B\n", "a\nB\nc\n");
        check("a\nb\nc\n", "b\n", "", "a\nc\n");
        check("let x = 1;", "x", "x_1", "let x_1 = 1;");
        check("é🦀é", "🦀", "c", "écé");
    }

    #[test]
    fn a_text_that_is_not_unique_names_its_lines() {
        refuse("a\nb\na\n", "a", "c", "lines 1, 3");
        refuse("aaa", "aa", "b", "lines 1, 1");
    }

    #[test]
    fn a_text_that_is_not_there_gets_a_hint() {
        refuse("fn main() {\n    work();\n}\n", "\twork();\n}", "x", "white space only stands at line 2");
        refuse("a\r\nb\r\n", "a\nb", "x", "\\r\\n");
        refuse("a\nnew\n", "old", "new", "`new` does, at line 2");
        refuse("a", "z", "x", "Read the file");
        refuse("", "z\n", "x", "Read the file");
    }

    #[test]
    fn an_edit_that_makes_no_sense_is_refused() {
        refuse("a", "", "x", "empty");
        refuse("a", "a", "a", "the same");
    }
}
