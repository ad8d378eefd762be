//! The driver: performs what the machine asks for, and nothing else.
//!
//! [`Runtime`] is the face. `operation.rs` is the loop; `perform.rs` starts effects, `absorb.rs`
//! takes in what they came to, `inbox.rs` what comes from outside; `unit.rs` is the life of one tool
//! call as far as it must stay in memory.

mod absorb;
mod agent;
mod ask;
mod builder;
mod check;
mod child;
mod clock;
mod conversation;
mod core;
mod earlier;
mod error;
mod facts;
mod fn_tool;
mod hearing;
mod inbox;
mod model_calls;
mod open;
mod operation;
mod outbox;
mod panic_hook;
mod pending;
mod perform;
mod runtime;
mod setup;
mod spawn;
mod stopping;
mod stream;
mod stream_schema;
mod summarize;
mod telling;
mod turn;
mod unit;

pub use self::core::{Ids, Probe, RandomIds};
pub use agent::Agent;
pub use builder::RuntimeBuilder;
pub use check::{CheckError, check_operation};
pub use clock::{Clock, Hold, HookTime, SystemClock, VirtualClock};
pub use error::RunError;
pub use fn_tool::FnTool;
pub use outbox::{OUTBOX_GRACE, OutboxReport};
pub use panic_hook::install_quiet_panic_hook;
pub use runtime::{Prompt, Resume, Run, Runtime};
pub use setup::SetupError;
pub use stopping::{StopRequest, Stopping, UntoldStop, untold_stop};
pub use stream::{Decided, EVENTS_VERSION, Events, HookReceipt, PendingCallView, Report, StreamEvent, Told};
pub use stream_schema::events_schema;
