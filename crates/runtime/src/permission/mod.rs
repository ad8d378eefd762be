//! Whether a call may run, or a person must be asked first.
//!
//! Everything here is a function of its arguments. Nothing parks, asks or waits: the planner calls
//! [`decide`] and turns the answer into instructions, and the answers of dynamic resolvers are
//! inputs that an effect collected before.

mod blacklist;
mod config;
mod decide;
mod defaults;
mod matcher;
mod path;
mod shell;
mod words;

pub use blacklist::{Blacklist, BlacklistRule, Finding};
pub use config::{ApprovalConfig, ApprovalConfigError, ApprovalMode, DynamicConfig, Policy, Rule, effective_config};
pub use decide::{Arguments, DynamicAnswer, Permission, Question, decide};
pub use matcher::{ArgumentMatcher, CompiledPattern, ShellPredicate};
