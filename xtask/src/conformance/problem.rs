use std::fmt;

/// Why the ledger of promises does not add up. Each says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A file cannot be read.
    Unreadable { path: String, cause: String },
    /// A row of a list does not have the form its header names.
    Malformed { path: String, line: usize, what: String },
    /// Two rows of one list have the same id.
    Twice { path: String, line: usize, id: String },
    /// An id that no list of promises has.
    Unknown { id: String, place: String },
    /// A proof of something that is said not to be ours.
    ProvenButNotOurs { id: String, place: String },
    /// A promise of a resolved issue without a proof.
    RequiredNotProven { id: String },
    /// A listed proof whose test is not there.
    NoSuchTest { id: String, path: String, name: String },
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { path, cause } => write!(out, "{path}: {cause}"),
            Problem::Malformed { path, line, what } => write!(out, "{path}:{line}: {what}"),
            Problem::Twice { path, line, id } => write!(out, "{path}:{line}: {id} is listed twice; keep one row"),
            Problem::Unknown { id, place } => {
                write!(out, "{place}: no promise has the id {id}; correct it, or rename a test that means no promise")
            }
            Problem::ProvenButNotOurs { id, place } => {
                write!(out, "{place}: {id} is proven here but closed as not ours; take it off closed.tsv")
            }
            Problem::RequiredNotProven { id } => {
                write!(out, "{id} is required but not proven; name a test after it, or list one in proofs.tsv")
            }
            Problem::NoSuchTest { id, path, name } => {
                write!(out, "{path}: no test `{name}`, which proofs.tsv lists for {id}; correct the row")
            }
        }
    }
}
