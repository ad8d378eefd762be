//! The step loop of an agent, run as an explicit state machine.
//!
//! [`machine`] decides, [`planner`] plans, [`journal`] says what is written down, and `drive`
//! performs. Without default features there is no async runtime here, no HTTP client, no store.
//!
//! Whoever embeds Jackline begins with [`Runtime`], [`Agent`] and [`Hooks`]; what such a program
//! names most often is here, at the root, whichever crate it comes from. The folder
//! `examples/embed` has a short program for each thing that one may want.
//!
//! ```
//! use jackline_runtime::llm::{ScriptedModel, Turn};
//! use jackline_runtime::{Agent, Hooks, Reason, Runtime};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let model = ScriptedModel::new([Turn::text("Four.")]);
//! let runtime = Runtime::builder().model(model).build()?;
//! let agent = Agent::new("clerk", "You answer in one word.");
//! let report = runtime.start(&agent, "What is two and two?", Hooks::new())?.wait().await?;
//! assert_eq!(report.answer.as_deref(), Some("Four."));
//!
//! // The script has no second turn: the run ends, and says how.
//! let report = runtime.start(&agent, "And three and three?", Hooks::new())?.wait().await?;
//! assert_eq!(report.reason, Some(Reason::Error));
//! assert_eq!(report.fault.unwrap().code, "script_exhausted");
//! # Ok::<(), jackline_runtime::RunError>(())
//! # }).unwrap();
//! ```

pub mod agent;
pub mod compress;
pub mod journal;
pub mod llm;
pub mod machine;
pub mod permission;
pub mod planner;
pub mod repeat;
pub mod tokens;

#[cfg(feature = "drive")]
pub mod drive;

#[cfg(feature = "drive")]
pub use drive::{
    Agent, Events, FnTool, Prompt, Report, Resume, Run, RunError, Runtime, RuntimeBuilder, StreamEvent, Told,
};
#[cfg(feature = "drive")]
pub use jackline_hooks::{Decision, HookError, Hooks, MockAnswer, MockableToolCall, OnError};
#[cfg(feature = "drive")]
pub use jackline_model::{
    Advice, Message, MessageBody, ModelUsage, NanoDollars, OperationId, Origin, Reason, SideEffect, Status, ToolCallId,
    ToolKey, ToolRunResult, Totals,
};
#[cfg(feature = "drive")]
pub use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};

/// The events that hooks hear of, and everything else about hooks.
pub use jackline_hooks as hooks;
/// The words that all crates share.
pub use jackline_model as model;
/// What a tool is, and the gate that everything a tool says must pass.
pub use jackline_tools as tools;
