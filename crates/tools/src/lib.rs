//! What a tool is, the machine of one call, and the gate that everything a tool says must pass.
//!
//! There is no model client here and no loop.

pub mod call;
pub mod gate;
pub mod limits;
mod spec;
mod text;
mod tool;

pub use gate::{Archived, Clearance, Denial, Publishable, Receipt};
pub use spec::ToolSpec;
pub use tool::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError};
