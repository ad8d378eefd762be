//! `fs/list`.

use std::fmt::Write as _;
use std::fs::{self, DirEntry};
use std::io;

use serde::Deserialize;

use crate::builtin::Refusal;
use crate::builtin::blocking::Cancel;
use crate::builtin::root::{Root, explained};
use crate::limits;

#[derive(Deserialize)]
pub(super) struct ListArguments {
    #[serde(default)]
    path: String,
}

pub(super) fn list(root: &Root, arguments: ListArguments, cancel: &Cancel) -> Result<String, Refusal> {
    let asked = &arguments.path;
    let mut lines = Vec::new();
    let mut left_out = 0_usize;
    for entry in fs::read_dir(root.existing(asked)?).map_err(|error| explained(asked, &error))? {
        cancel.check()?;
        if lines.len() < limits::LIST_ENTRIES_MAX {
            lines.push(entry.and_then(|entry| shown(&entry)).map_err(|error| explained(asked, &error))?);
        } else {
            left_out += 1;
        }
    }
    if lines.is_empty() {
        return Ok("The directory is empty.".to_owned());
    }
    lines.sort_unstable();
    let mut text = lines.join("\n");
    if left_out > 0 {
        let _ = write!(text, "\n[{left_out} more entries are left out.]");
    }
    Ok(text)
}

fn shown(entry: &DirEntry) -> io::Result<String> {
    let name = entry.file_name().to_string_lossy().into_owned();
    let kind = entry.file_type()?;
    Ok(if kind.is_dir() {
        format!("{name}/")
    } else if kind.is_symlink() {
        format!("{name} (symlink)")
    } else {
        format!("{name} ({} bytes)", entry.metadata()?.len())
    })
}
