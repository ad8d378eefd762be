//! The store of the command line, and finding operations in it.

use std::path::Path;
use std::sync::Arc;

use jackline_model::OperationId;
use jackline_runtime::journal::{Header, Store};
use jackline_store_sqlite::{OpenOptions, SqliteStore};

use crate::args::{Common, DEFAULT_STORE};
use crate::problem::Problem;

/// Opens the store to run something; makes it if there is none.
pub(crate) fn open(common: &Common) -> Result<Arc<dyn Store>, Problem> {
    Ok(Arc::new(SqliteStore::open(&common.store, &OpenOptions::default())?))
}

/// Opens the store that must be there.
pub(crate) fn open_existing(common: &Common) -> Result<Arc<dyn Store>, Problem> {
    check_exists(&common.store)?;
    Ok(Arc::new(SqliteStore::open(&common.store, &OpenOptions { create: false, ..OpenOptions::default() })?))
}

/// Opens the store to look at it.
pub(crate) fn open_to_read(common: &Common) -> Result<Arc<dyn Store>, Problem> {
    check_exists(&common.store)?;
    let options = OpenOptions { create: false, read_only: true, ..OpenOptions::default() };
    Ok(Arc::new(SqliteStore::open(&common.store, &options)?))
}

fn check_exists(path: &Path) -> Result<(), Problem> {
    if path.exists() {
        return Ok(());
    }
    let message = format!("there is no store at `{}`", path.display());
    Err(Problem::usage(message).hint("Run something first, or name another with --store."))
}

/// The operation that a word means: an id, the beginning of one, or `last`.
pub(crate) fn find(store: &dyn Store, word: &str) -> Result<Header, Problem> {
    let headers = store.list(LISTED_MAX)?;
    if word == "last" {
        let newest = headers.into_iter().find(|header| !header.lineage.is_sub_agent);
        return newest.ok_or_else(|| Problem::usage("the store holds no operation yet"));
    }
    let fits = |header: &&Header| {
        let id = header.id.as_str();
        id.starts_with(word) || id.strip_prefix("op_").is_some_and(|rest| rest.starts_with(word))
    };
    if let Some(exact) = headers.iter().find(|header| header.id.as_str() == word) {
        return Ok(exact.clone());
    }
    let found: Vec<&Header> = headers.iter().filter(fits).filter(|_| !word.is_empty()).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(unknown(word, &headers)),
        many => {
            let ids: Vec<&str> = many.iter().take(SHOWN_MAX).map(|header| header.id.as_str()).collect();
            let message = format!("`{word}` is the beginning of {} operations", many.len());
            Err(Problem::usage(message).hint(format!("Among them:\n  {}", ids.join("\n  "))))
        }
    }
}

/// The operation that a person started, of which this one is a part.
pub(crate) fn root_of(store: &dyn Store, header: Header) -> Result<Header, Problem> {
    let mut root = header;
    while let Some(parent) = root.lineage.parent_operation_id.clone() {
        root = store.header(&parent)?;
    }
    Ok(root)
}

fn unknown(word: &str, headers: &[Header]) -> Problem {
    let problem = Problem::usage(format!("there is no operation `{word}`"));
    let ids = headers.iter().map(|header| header.id.as_str());
    match crate::text::closest(word, ids) {
        Some(id) => problem.hint(format!("Did you mean `{id}`? `jackline ops list` shows all.")),
        None => problem.hint("`jackline ops list` shows the operations of this store."),
    }
}

/// A command that continues what this one began, with the same store.
pub(crate) fn command_line(common: &Common, words: &str, operation: &OperationId, rest: &str) -> String {
    let mut line = format!("jackline {words} {operation}");
    if !rest.is_empty() {
        line.push(' ');
        line.push_str(rest);
    }
    if common.store != Path::new(DEFAULT_STORE) {
        line.push_str(&format!(" --store {}", quoted(&common.store.display().to_string())));
    }
    line
}

pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Operations that are looked at to find one.
const LISTED_MAX: usize = 10_000;

/// Operations that an ambiguous word is answered with.
const SHOWN_MAX: usize = 8;
