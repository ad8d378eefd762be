//! Which promised behaviours are proven, and where.
//!
//! The promises are data in `tests/conformance`; the proofs are found in the sources. Nothing here
//! runs a test: the gate does.

mod ledger;
mod lists;
mod problem;
mod proofs;
mod report;
mod test_fns;

pub(crate) use report::{Options, run};
