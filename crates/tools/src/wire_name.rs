//! The names under which tools are offered to a model, and the way back from what it answers.
//!
//! Providers take letters, digits, `_` and `-`, at most 64 of them. The wire name of `fs/read` is
//! `fs____read`; a key that does not fit gets a readable stem and a hash of the whole key instead,
//! the same in every process.

use std::collections::BTreeMap;

use jackline_model::ToolKey;

use crate::limits;
use crate::text::sha256_hex;

/// The wire names of a set of tools, all different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireNames {
    by_key: BTreeMap<ToolKey, String>,
    by_name: BTreeMap<String, ToolKey>,
}

/// A name that stands for no tool.
///
/// The call is answered with [`Receipt::UnknownTool`](crate::Receipt::UnknownTool), so that the
/// model can choose another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no tool is called `{name}`")]
pub struct Unresolved {
    /// What the model wrote.
    pub name: String,
    /// The wire names there are, those most like it first, up to a bound.
    pub available: Vec<String>,
}

impl Unresolved {
    /// The key for the call's row: the halves of the name if it has the separator, else a bare name.
    pub fn key(&self) -> ToolKey {
        match self.name.split_once(SEPARATOR) {
            Some((identifier, api_name)) => ToolKey::new(identifier, api_name),
            None => ToolKey::new("", self.name.as_str()),
        }
    }
}

impl WireNames {
    /// Names each key. A key given twice counts once.
    pub fn new(keys: impl IntoIterator<Item = ToolKey>) -> Self {
        let mut names = Self::default();
        for key in keys {
            names.add(key);
        }
        names
    }

    /// The wire name of a tool.
    pub fn name(&self, key: &ToolKey) -> Option<&str> {
        self.by_key.get(key).map(String::as_str)
    }

    /// The tool that a model means by a name.
    ///
    /// Tried in this order: the wire name; the bare function name, if one tool has it; either of the
    /// two again with all but letters and digits left out and case ignored, if one tool fits. Two
    /// tools that fit are no answer: the call might do harm.
    ///
    /// # Errors
    ///
    /// [`Unresolved`] with the names there are: answer the call with them.
    ///
    /// ```
    /// use jackline_model::ToolKey;
    /// use jackline_tools::WireNames;
    ///
    /// let names = WireNames::new([ToolKey::parse("fs/read"), ToolKey::parse("fs/write")]);
    /// assert_eq!(names.resolve("fs____read"), Ok(&ToolKey::parse("fs/read")));
    /// assert_eq!(names.resolve("FS.Read"), Ok(&ToolKey::parse("fs/read")));
    /// assert_eq!(names.resolve("fs____raed").unwrap_err().available[0], "fs____read");
    /// ```
    pub fn resolve(&self, name: &str) -> Result<&ToolKey, Unresolved> {
        let name = name.trim();
        let squashed = squash(name);
        self.by_name
            .get(name)
            .or_else(|| self.only(|key, _| *key.api_name == *name))
            .or_else(|| self.only(|key, wire| fits(&squashed, wire) || fits(&squashed, &key.to_string())))
            .or_else(|| self.only(|key, _| fits(&squashed, &key.api_name)))
            .ok_or_else(|| Unresolved { name: name.to_owned(), available: self.nearest(name) })
    }

    fn add(&mut self, key: ToolKey) {
        if self.by_key.contains_key(&key) {
            return;
        }
        let name = candidates(&key)
            .find(|name| !self.by_name.contains_key(name))
            .expect("two keys do not share a whole SHA-256, and no plain name looks like one");
        self.by_name.insert(name.clone(), key.clone());
        self.by_key.insert(key, name);
    }

    /// The one tool for which the question is answered with yes.
    fn only(&self, fits: impl Fn(&ToolKey, &str) -> bool) -> Option<&ToolKey> {
        let mut found = self.by_key.iter().filter(|(key, wire)| fits(key, wire)).map(|(key, _)| key);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        let mut names: Vec<_> = self.by_name.keys().map(|wire| (strsim::jaro_winkler(name, wire), wire)).collect();
        names.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
        names.into_iter().take(limits::AVAILABLE_NAMES_MAX).map(|(_, wire)| wire.clone()).collect()
    }
}

/// The names a key may get, best first: the plain one if it fits, then hashed ones, each with more
/// of the hash than the last.
fn candidates(key: &ToolKey) -> impl Iterator<Item = String> {
    plain(key).into_iter().chain(HASH_LENGTHS.into_iter().map(|length| hashed(key, length)))
}

/// A readable stem and so much of the hash of the whole key.
fn hashed(key: &ToolKey, length: usize) -> String {
    let hash = sha256_hex(&[key.identifier.as_bytes(), b"\0", key.api_name.as_bytes()]);
    let joined = format!("{}{SEPARATOR}{}", cleaned(&key.identifier), cleaned(&key.api_name));
    let stem = joined.trim_matches(['_', '-']);
    // Cleaned text is ASCII, so any cut is between characters.
    let stem = &stem[..stem.len().min(limits::WIRE_NAME_CHARS_MAX.saturating_sub(length + 1))];
    let joint = if stem.is_empty() { "" } else { "_" };
    format!("{stem}{joint}{}", &hash[..length])
}

/// `identifier____apiName`, unless that is too long, odd, or could be split in another way.
fn plain(key: &ToolKey) -> Option<String> {
    let halves = [&*key.identifier, &*key.api_name];
    let is_clean = |half: &str| half.bytes().all(is_allowed) && !half.contains(SEPARATOR);
    let is_splittable = !key.identifier.ends_with('_') && !key.api_name.starts_with('_');
    let name = if key.identifier.is_empty() { key.api_name.to_string() } else { halves.join(SEPARATOR) };
    let fits = name.len() <= limits::WIRE_NAME_CHARS_MAX && !key.api_name.is_empty();
    (fits && is_splittable && halves.into_iter().all(is_clean) && !is_whole_hash(&name)).then_some(name)
}

/// Such a name is the last resort of another key; no key may have it as its plain name.
fn is_whole_hash(name: &str) -> bool {
    name.len() == HASH_LENGTHS[2] && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn cleaned(half: &str) -> String {
    half.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' }).collect()
}

fn squash(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn fits(squashed: &str, name: &str) -> bool {
    !squashed.is_empty() && squash(name) == squashed
}

/// Stands between the two halves of a key.
const SEPARATOR: &str = "____";

/// How much of the hash a name may hold: ten digits are enough unless somebody looks for a clash.
const HASH_LENGTHS: [usize; 3] = [10, 20, 64];

#[cfg(test)]
mod tests;
