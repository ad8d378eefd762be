//! `fs/search`.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::builtin::Refusal;
use crate::builtin::blocking::Cancel;
use crate::builtin::root::{Root, explained, open_file};
use crate::limits;
use crate::text::prefix;

#[derive(Deserialize)]
pub(super) struct SearchArguments {
    pattern: String,
    #[serde(default)]
    path: String,
}

/// Walks the files in the order of their names, so that equal trees give equal answers. Symlinks are
/// not followed, and `.git` is left out.
pub(super) fn search(root: &Root, arguments: SearchArguments, cancel: &Cancel) -> Result<String, Refusal> {
    let pattern = RegexBuilder::new(&arguments.pattern)
        .size_limit(limits::SEARCH_PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| Refusal(format!("The pattern cannot be used: {error}")))?;
    let start = root.existing(&arguments.path)?;
    let mut found = Found::default();
    // Last in, first out: entries are pushed in reverse order.
    let mut open = vec![start];
    while let Some(path) = open.pop() {
        cancel.check()?;
        if found.is_full() {
            break;
        }
        if path.is_dir() {
            open.extend(entries(&path).map_err(|error| explained(&root.shown(&path), &error))?);
        } else {
            found.files += 1;
            search_file(root, &path, &pattern, &mut found);
        }
    }
    Ok(found.into_text())
}

#[derive(Default)]
struct Found {
    lines: Vec<String>,
    files: usize,
    files_left_out: usize,
}

impl Found {
    fn is_full(&self) -> bool {
        self.lines.len() >= limits::SEARCH_MATCHES_MAX || self.files >= limits::SEARCH_FILES_MAX
    }

    fn into_text(self) -> String {
        let is_full = self.is_full();
        let mut lines = self.lines;
        if lines.is_empty() {
            lines.push("Nothing matches.".to_owned());
        }
        if is_full {
            lines.push("[There may be more. Search in a narrower path or for a narrower pattern.]".to_owned());
        }
        if self.files_left_out > 0 {
            lines.push(format!("[{} files were too large or could not be read.]", self.files_left_out));
        }
        lines.join("\n")
    }
}

/// The directories and files in a directory, last name first.
fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if (kind.is_dir() && entry.file_name() != ".git") || kind.is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable_by(|left, right| right.cmp(left));
    Ok(paths)
}

fn search_file(root: &Root, path: &Path, pattern: &Regex, found: &mut Found) {
    let mut bytes = Vec::new();
    let read = open_file(path).and_then(|file| file.take(limits::SEARCH_FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    if read.is_err() || bytes.len() as u64 > limits::SEARCH_FILE_BYTES_MAX {
        found.files_left_out += 1;
        return;
    }
    if bytes.contains(&0) {
        return;
    }
    let text = String::from_utf8_lossy(&bytes);
    let room = limits::SEARCH_MATCHES_MAX - found.lines.len();
    let matches = text.lines().zip(1_u64..).filter(|(line, _)| pattern.is_match(line)).take(room);
    found.lines.extend(matches.map(|(line, number)| {
        format!("{}:{number}: {}", root.shown(path), prefix(line, limits::SEARCH_LINE_BYTES_MAX))
    }));
}
