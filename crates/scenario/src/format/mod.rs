//! The format of a scenario file, and the reader that says where a mistake is.

mod agent;
mod expect;
mod file;
mod hook;
mod human;
mod people;
mod plan;
mod script;
mod text;
mod tool;
mod turn;

pub use agent::{AgentScript, CompressionScript};
pub use expect::{Expect, ExpectedMessage, ExpectedOperation, ExpectedUsage, HookLine, RoleName};
pub use file::{Scenario, ScenarioError, schema};
pub use hook::{HookAnswer, HookPower, HookScript, HookWord, MockThen, OnErrorWord};
pub use human::{Calls, HumanAct, HumanStep};
pub use people::{FaultScript, FaultWhat, Interrupt};
pub use plan::{PlanScript, PlanStep};
pub use script::{OriginScript, RealTool, Script};
pub use text::{Text, Texts};
pub use tool::{ToolAnswerScript, ToolScript, ToolWhat};
pub use turn::{CallScript, Fault, FaultKind, Finish, Reply, RequestExpectation, Turn, TurnWhat, UsageScript};
