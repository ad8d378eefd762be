//! The machine of one call: clear → (mock | run) → judge → publish.
//!
//! Pure: no clock, no I/O, no `async`. What must stay in memory – raw output, a clearance – lives
//! in its states; the machine of the operation sees only what may be written down.

mod machine;

pub use machine::{Call, CallFault, Effect, In, Told};
