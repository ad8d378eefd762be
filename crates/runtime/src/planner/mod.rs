//! Planners: what a step does, decided from where the conversation stands.

mod general;
#[cfg(test)]
mod general_tests;
mod view;

pub use general::GeneralPlanner;
pub use view::{PlanCall, PlanView, Standing};

pub use crate::machine::CompactionNeed;
use crate::machine::Instruction;

/// Decides what a step does. Pure: the same view gives the same plan.
///
/// The plan is journaled, so a run that is resumed is never planned anew. The machine checks it:
/// every open call must be covered once, and an instruction that ends the step comes last.
///
/// ```
/// use jackline_model::Reason;
/// use jackline_runtime::machine::Instruction;
/// use jackline_runtime::planner::{PlanView, Planner};
///
/// /// Never asks the model.
/// struct Idle;
///
/// impl Planner for Idle {
///     fn plan(&self, _view: &PlanView<'_>) -> Vec<Instruction> {
///         vec![Instruction::Finish { reason: Reason::Done }]
///     }
/// }
/// ```
pub trait Planner: Send + Sync {
    /// The instructions of the step, in order.
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction>;
}
