//! The secret of a place, and the search for it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// A text that exists only where a process makes it: it is worked out of the name of its place, so
/// it is in no binary and in no environment.
pub(crate) fn secret(place: &Path) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (place.file_name(), salt).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    };
    format!("{}{}", half(1), half(2))
}

/// The files below a place that hold the text or a half of it, sorted: the halves, because a
/// database may cut a text where a page ends.
pub(crate) fn files_with(place: &Path, secret: &str) -> Vec<String> {
    let (first, second) = secret.split_at(secret.len() / 2);
    let mut found = Vec::new();
    let mut directories = vec![place.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            if has(&bytes, first) || has(&bytes, second) {
                found.push(path.strip_prefix(place).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
