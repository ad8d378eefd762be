//! `fs/write`, and the atomic replacement of a file that `fs/edit` uses too.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;

use crate::builtin::Refusal;
use crate::builtin::blocking::Cancel;
use crate::builtin::root::{Root, explained};

#[derive(Deserialize)]
pub(super) struct WriteArguments {
    path: String,
    text: String,
}

pub(super) fn write(root: &Root, arguments: WriteArguments, cancel: &Cancel) -> Result<String, Refusal> {
    let WriteArguments { path, text } = arguments;
    let _changing = root.changes.lock().unwrap_or_else(PoisonError::into_inner);
    let target = root.target(&path)?;
    if target.is_dir() {
        return Err(explained(&path, &io::Error::from(io::ErrorKind::IsADirectory)));
    }
    replace(&target, text.as_bytes(), &path, cancel)?;
    Ok(format!("Wrote {} bytes to `{}`.", text.len(), root.shown(&target)))
}

/// Puts a whole file in place, or leaves all as it was. The path has been followed already.
pub(super) fn replace(target: &Path, bytes: &[u8], asked: &str, cancel: &Cancel) -> Result<(), Refusal> {
    let directory = target.parent().ok_or_else(|| Refusal(format!("`{asked}` is no file.")))?;
    cancel.check()?;
    fs::create_dir_all(directory).map_err(|error| explained(asked, &error))?;
    let draft = Draft::new(directory, bytes, target).map_err(|error| explained(asked, &error))?;
    cancel.check()?;
    draft.publish(target).map_err(|error| explained(asked, &error))
}

/// The new content beside its target; removed unless it is published.
struct Draft {
    path: PathBuf,
    is_published: bool,
}

impl Draft {
    fn new(directory: &Path, bytes: &[u8], target: &Path) -> io::Result<Self> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".jackline-{}-{number}.tmp", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let draft = Self { path, is_published: false };
        file.write_all(bytes)?;
        if let Ok(old) = fs::metadata(target) {
            file.set_permissions(old.permissions())?;
        }
        // Else a power cut after the rename could leave an empty file.
        file.sync_all()?;
        Ok(draft)
    }

    fn publish(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = fs::remove_file(&self.path);
        }
    }
}
