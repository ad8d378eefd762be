//! Asking the model: for a turn, and for a summary.

use std::sync::Arc;

use futures_util::FutureExt;
use jackline_model::{Fault, FaultAttribution};

use super::ask::ask;
use super::operation::{Done, Operation};
use super::stream::{Stream, Told};
use super::summarize;
use crate::llm::{Delta, DeltaSink, ModelFault, ModelFaultKind, ModelRequest};
use crate::machine::{Compaction, EffectId, State};

impl Operation {
    pub(super) fn call_model(&mut self, id: EffectId, with_tools: bool) {
        let setup = Arc::clone(&self.setup);
        let menu = Arc::clone(if with_tools { &setup.menu } else { &setup.no_tools });
        if let Some(fault) = self.conversation.overflow(&setup.agent.compression, &menu, setup.counter.as_ref()) {
            self.ready.push_back(Done::ModelFailed(id, Box::new(model_fault(ModelFaultKind::ContextOverflow, fault))));
            return;
        }
        let history = Arc::clone(self.conversation.history());
        self.tell(|| Told::ModelStart {
            model: setup.agent.model.as_str().into(),
            attempt: id.attempt + 1,
            with_tools,
        });
        let hold = (!setup.model.is_simulated()).then(|| self.core.clock.hold());
        let cancel = self.cancel.clone();
        let mut sink = Sink {
            stream: self.core.stream.clone(),
            operation: self.id().clone(),
            step: self.step(),
            clock: Arc::clone(&self.core.clock),
        };
        let work = async move {
            let _hold = hold;
            let request = ModelRequest {
                model: &setup.agent.model,
                agent: &setup.agent.name,
                history: &history,
                tools: &menu,
                instruction: (!with_tools && !setup.menu.tools().is_empty()).then_some(ANSWER_NOW),
                output_tokens_max: setup.agent.output_tokens_max,
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => Done::ModelFailed(id, Box::new(cancelled())),
                answer = ask(setup.model.as_ref(), request, &mut sink) => match answer {
                    Ok(reply) => Done::Replied(id, Box::new(reply)),
                    Err(fault) => Done::ModelFailed(id, Box::new(fault)),
                },
            }
        };
        self.in_flight.push(work.boxed());
    }

    pub(super) fn summarize(&mut self, id: EffectId) {
        let all =
            matches!(self.machine.state(), State::Summarizing { compaction: Compaction { for_retry: true, .. }, .. });
        let job = match summarize::Job::prepare(&mut self.conversation, &self.setup, all) {
            Ok(job) => job,
            Err(fault) => {
                let fault = model_fault(ModelFaultKind::Permanent, fault);
                self.ready.push_back(Done::SummaryFailed(id, Box::new(fault)));
                return;
            }
        };
        let setup = Arc::clone(&self.setup);
        let hold = (!setup.model.is_simulated()).then(|| self.core.clock.hold());
        let cancel = self.cancel.clone();
        let work = async move {
            let _hold = hold;
            let summary = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(cancelled()),
                summary = job.run(setup) => summary,
            };
            match summary {
                Ok(done) => Done::Summarized(id, Box::new(done)),
                Err(fault) => Done::SummaryFailed(id, Box::new(fault)),
            }
        };
        self.in_flight.push(work.boxed());
    }
}

fn cancelled() -> ModelFault {
    let fault = Fault {
        code: "cancelled".to_owned(),
        message: "the run was stopped".to_owned(),
        attribution: FaultAttribution::User,
        detail: None,
    };
    model_fault(ModelFaultKind::Cancelled, fault)
}

/// A failure that no provider reported.
pub(crate) fn model_fault(kind: ModelFaultKind, fault: Fault) -> ModelFault {
    ModelFault { kind, fault, retry_after: None, partial: String::new() }
}

/// Tells readers the pieces of an answer while they arrive.
struct Sink {
    stream: Stream,
    operation: jackline_model::OperationId,
    step: u32,
    clock: Arc<dyn super::clock::Clock>,
}

impl DeltaSink for Sink {
    fn wants_deltas(&self) -> bool {
        self.stream.is_read()
    }

    fn delta(&mut self, delta: Delta<'_>) {
        let told = match delta {
            Delta::Text(text) => Told::Text { delta: text.to_owned() },
            Delta::Reasoning(text) => Told::Reasoning { delta: text.to_owned() },
        };
        self.stream.tell(self.clock.now_ms(), &self.operation, self.step, told);
    }
}

/// Goes with the last request of a run that has used up its steps.
const ANSWER_NOW: &str = "The step limit is reached and tools are no longer available. \
                          Answer now with what you know: say what was done, what was found, and what is still open.";
