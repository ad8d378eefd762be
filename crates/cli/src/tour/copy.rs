//! Copying a tour, so that its own files stay as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// Copies a tour to `to`, in place of a copy made earlier. Hidden files stay behind.
pub(super) fn copy_tour(from: &Path, to: &Path) -> Result<(), Problem> {
    let problem =
        |error: io::Error| Problem::failed(format!("cannot copy `{}` to `{}`: {error}", from.display(), to.display()));
    // Only what an earlier tour has left is removed.
    if to.join("tour.toml").is_file() {
        fs::remove_dir_all(to).map_err(problem)?;
    }
    fs::create_dir_all(to).map_err(problem)?;
    let copy = to.canonicalize().map_err(problem)?;
    let mut left = FILES_MAX;
    let mut open: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
    while let Some((source, target)) = open.pop() {
        fs::create_dir_all(&target).map_err(problem)?;
        for entry in fs::read_dir(&source).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            // The store may lie inside the tour, and the copy lies beside the store.
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_hidden || entry.path().canonicalize().is_ok_and(|path| path == copy) {
                continue;
            }
            let kind = entry.file_type().map_err(problem)?;
            let target = target.join(entry.file_name());
            left = left.checked_sub(1).ok_or_else(|| problem(io::Error::other("it holds too many files")))?;
            if kind.is_dir() {
                open.push((entry.path(), target));
            } else if kind.is_file() {
                fs::copy(entry.path(), target).map_err(problem)?;
            }
        }
    }
    Ok(())
}

/// A tour is small; a directory with more was named by mistake.
const FILES_MAX: usize = 1_000;
