//! The form of `tour.toml`.

use std::path::PathBuf;

use jackline_model::Reason;
use serde::Deserialize;

use crate::run::Answer;

/// A tour.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tour {
    /// What it shows.
    pub(super) title: String,
    /// More about it.
    #[serde(default)]
    pub(super) about: Option<String>,
    /// Its operations, run one after another.
    #[serde(rename = "operation")]
    pub(super) operations: Vec<Stop>,
}

/// One operation of a tour.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    /// What it shows.
    pub(super) title: String,
    /// More about it.
    #[serde(default)]
    pub(super) about: Option<String>,
    /// The agent file, relative to the directory.
    pub(super) agent: PathBuf,
    /// The prompt.
    pub(super) prompt: String,
    /// What people answer, in the order in which they are asked.
    #[serde(default)]
    pub(super) answers: Vec<Answer>,
    /// How it must end; without it, it must be left waiting.
    #[serde(default)]
    pub(super) expect: Option<Reason>,
}
