//! Named variables, read when they are needed.

use std::collections::BTreeMap;
use std::fmt;

/// Where named variables are read: the process, or a list in a test.
///
/// Hooks read their variables at each use, so that a secret that is rotated counts at once. What is
/// read is never stored, logged or shown.
pub trait Environment: fmt::Debug + Send + Sync {
    /// The value of a variable. Nothing if it is not set, or if it is no text.
    fn get(&self, name: &str) -> Option<String>;
}

/// The variables of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// A fixed list of variables. Its `Debug` shows names only.
///
/// ```
/// use jackline_hooks::{Environment, Variables};
/// let variables = Variables::from([("TOKEN", "secret")]);
/// assert_eq!(variables.get("TOKEN").as_deref(), Some("secret"));
/// assert_eq!(format!("{variables:?}"), r#"Variables({"TOKEN"})"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The list with one variable more, or with another value for it.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Variables {
    fn from(list: [(&str, &str); N]) -> Self {
        list.into_iter().fold(Self::default(), |all, (name, value)| all.with(name, value))
    }
}

impl Environment for Variables {
    fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Names<'a>(&'a BTreeMap<String, String>);
        impl fmt::Debug for Names<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.0.keys()).finish()
            }
        }
        f.debug_tuple("Variables").field(&Names(&self.0)).finish()
    }
}

/// Whether a text can be the name of a variable.
pub(crate) fn is_variable_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}
