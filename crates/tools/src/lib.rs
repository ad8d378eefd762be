//! What a tool is, the machine of one call, and the gate that everything a tool says must pass.
//!
//! There is no model client here and no loop.

pub mod arguments;
#[cfg(feature = "builtin")]
pub mod builtin;
pub mod call;
mod client;
pub mod gate;
pub mod lanes;
pub mod limits;
mod registry;
pub mod schema;
mod spec;
mod text;
mod tool;
mod wire_name;

pub use arguments::{ArgumentProblem, Arguments, Repair};
pub use client::ClientTool;
pub use gate::{Archived, Clearance, Denial, Publishable, Receipt};
pub use registry::{RegisteredTool, Registry, RegistryBuilder, RegistryError};
pub use schema::{ArgumentSchema, SchemaProblem};
pub use spec::ToolSpec;
pub use tool::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError};
pub use wire_name::{Unresolved, WireNames};
