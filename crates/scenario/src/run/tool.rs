//! Scripted tools.

use std::sync::Arc;
use std::time::Duration;

use jackline_model::{NanoDollars, ToolKey};
use jackline_tools::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};

use super::world::World;
use crate::format::{ToolScript, ToolWhat};

/// Answers from the script.
pub(crate) struct ScriptedTool {
    name: String,
    spec: ToolSpec,
    world: Arc<World>,
}

impl ScriptedTool {
    pub(crate) fn new(name: &str, script: &ToolScript, world: &Arc<World>) -> Self {
        let mut spec = ToolSpec::new(ToolKey::parse(name), format!("The tool {name}."));
        spec.simulated = true;
        spec.side_effect = script.side_effect;
        spec.executor = script.executor;
        spec.approval.clone_from(&script.approval);
        spec.ordered = script.ordered;
        spec.serialize_by = script.serialize_by.as_deref().map(Into::into);
        spec.price = NanoDollars::from_dollars(script.price);
        spec.deadline = script.deadline_ms.map_or(spec.deadline, Duration::from_millis);
        spec.attempts_max = script.attempts.unwrap_or(spec.attempts_max);
        spec.result_bytes_max = script.result_bytes_max.unwrap_or(spec.result_bytes_max);
        if let Some(parameters) = &script.parameters {
            spec.parameters = Arc::new(parameters.clone());
        }
        Self { name: name.to_owned(), spec, world: Arc::clone(world) }
    }

    async fn answer(&self, arguments: Map<String, Value>, call: &str) -> Result<ToolAnswer, ToolError> {
        let world = &self.world;
        world.while_alive().await;
        let answer = {
            let mut story = world.story();
            story.activity += 1;
            *story.tool_runs.entry(self.name.clone()).or_default() += 1;
            story.tool_order.push(format!("begin {call}"));
            let answer = story.answers.get_mut(&self.name).and_then(std::collections::VecDeque::pop_front);
            if answer.is_none() {
                story.problems.push(format!("`tools.{}`: it ran once more than it has answers", self.name));
            }
            answer
        };
        let Some(answer) = answer else { return Err(ToolError::new("the scenario has no answer left")) };
        if let Some(given) = &answer.given
            && *given != arguments
        {
            let (given, real) = (Value::from(given.clone()), Value::from(arguments));
            world.problem(format!("`tools.{}`: it must be given {given} and was given {real}", self.name));
        }
        world.wait(answer.delay_ms).await;
        world.while_alive().await;
        world.story().tool_order.push(format!("end {call}"));
        match answer.what {
            ToolWhat::Result(result) => Ok(ToolAnswer::Now(*result)),
            ToolWhat::Throw { message, retry: true } => Err(ToolError::retryable(message)),
            ToolWhat::Throw { message, retry: false } => Err(ToolError::new(message)),
            ToolWhat::Hang => std::future::pending().await,
            // Without the panic hook: its words would stand in the output of a test that passes.
            ToolWhat::Panic => std::panic::resume_unwind(Box::new("scripted")),
            ToolWhat::Later => Ok(ToolAnswer::Later),
        }
    }
}

impl Tool for ScriptedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(self.answer(arguments, context.call_id.as_str()))
    }
}
