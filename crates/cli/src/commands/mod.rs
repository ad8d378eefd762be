//! One file per command, or per family of commands.

mod archive;
mod decide;
mod heard;
mod hooks;
mod machine;
mod ops;
mod resume;
mod schema;
mod show;
mod test;
mod tools;

pub(crate) use archive::archive;
pub(crate) use decide::{approve, complete, reject, stop};
pub(crate) use hooks::hooks;
pub(crate) use machine::machine;
pub(crate) use ops::ops;
pub(crate) use resume::resume;
pub(crate) use schema::{completions, schema};
pub(crate) use test::test;
pub(crate) use tools::tools;
