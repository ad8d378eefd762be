//! `fs/read`.

use std::io::BufReader;

use serde::Deserialize;

use crate::builtin::Refusal;
use crate::builtin::blocking::Cancel;
use crate::builtin::page::{looks_binary, page};
use crate::builtin::root::Root;
use crate::limits;

#[derive(Deserialize)]
pub(super) struct ReadArguments {
    path: String,
    #[serde(default = "first_line")]
    offset: u64,
    #[serde(default = "all_lines")]
    limit: u64,
}

pub(super) fn read(root: &Root, arguments: ReadArguments, cancel: &Cancel) -> Result<String, Refusal> {
    let ReadArguments { path, offset, limit } = arguments;
    let file = root.open(&path)?;
    let bytes = file.metadata()?.len();
    let mut reader = BufReader::new(file);
    if looks_binary(&mut reader)? {
        return Ok(format!("[binary, {bytes} bytes]"));
    }
    Ok(page(&mut reader, offset, limit, cancel)?.into_text(offset))
}

fn first_line() -> u64 {
    1
}

fn all_lines() -> u64 {
    limits::PAGE_LINES_MAX
}
