//! Compression: announce, summarize, close.

use jackline_model::{Fault, FaultAttribution, Reason};

use super::{model, step};
use crate::compress::GuardVerdict;
use crate::machine::effect::{Effect, Firing};
use crate::machine::firing::Moment;
use crate::machine::id::{Unit, Verb};
use crate::machine::input::{CompactionNeed, FailureKind, Folded, ModelFailure};
use crate::machine::instruction::Phase;
use crate::machine::shared::Shared;
use crate::machine::state::{Compaction, Ending, State};

/// Announces a compression, unless a limit stands against its model call.
pub(in crate::machine) fn announce(shared: &mut Shared, need: CompactionNeed, for_retry: bool) -> State {
    let CompactionNeed { messages, tokens } = need;
    if let Some(reason) = model::exhausted(shared) {
        shared.ending = Some(Ending::because(reason));
        return step::close(shared);
    }
    shared.fire(Moment::CompactionPlanned, Firing::BeforeCompact { messages, tokens });
    State::AnnouncingCompaction(Compaction { messages, tokens, for_retry })
}

/// The hooks of `beforeCompact` have answered.
pub(in crate::machine) fn announced(shared: &mut Shared, compaction: Compaction) -> State {
    if shared.stop_requested {
        return given_up(shared, compaction, cancelled());
    }
    summarize(shared, compaction, 1)
}

/// Asks for the summary.
pub(in crate::machine) fn summarize(shared: &mut Shared, compaction: Compaction, attempt: u16) -> State {
    shared.emit(Unit::Compact, Verb::Summarize, attempt - 1, Effect::Summarize);
    State::Summarizing { compaction, attempt }
}

/// The history is folded.
pub(in crate::machine) fn summarized(shared: &mut Shared, compaction: Compaction, folded: &Folded) -> State {
    if let Some(usage) = &folded.usage {
        shared.totals.add_model_call(usage);
    }
    shared.compression.note_success();
    shared.fire(
        Moment::Compacted,
        Firing::AfterCompact { messages_before: folded.messages_before, messages_after: folded.messages_after },
    );
    State::ClosingCompaction { compaction, failure: None }
}

/// The summary was not made. The model is asked again as it is for an answer, so often and after such waits.
pub(in crate::machine) fn summary_failed(
    shared: &mut Shared,
    compaction: Compaction,
    attempt: u16,
    failure: ModelFailure,
) -> State {
    let retries = failure.kind == FailureKind::Retryable && attempt < shared.settings.model_attempts_max;
    if retries && !shared.stop_requested {
        let until = model::retry_at(shared, attempt, &failure);
        return State::WaitingToSummarize { compaction, attempt, until };
    }
    given_up(shared, compaction, failure.fault)
}

/// The history could not be folded; nothing has changed.
pub(in crate::machine) fn given_up(shared: &mut Shared, compaction: Compaction, fault: Fault) -> State {
    if !shared.stop_requested {
        shared.compression.note_failure(shared.step);
    }
    let firing = Firing::OnCompactError { tokens: compaction.tokens, error: fault.message.clone() };
    shared.fire(Moment::CompactionFailed, firing);
    State::ClosingCompaction { compaction, failure: Some(fault) }
}

/// The hooks of `afterCompact` or `onCompactError` have answered.
pub(in crate::machine) fn closed(shared: &mut Shared, compaction: Compaction, failure: Option<Fault>) -> State {
    shared.phase = Phase::CompressionResult;
    if shared.stop_requested {
        return step::close(shared);
    }
    if let Some(failure) = failure
        && (compaction.for_retry || shared.compression.verdict() == GuardVerdict::EndOverflow)
    {
        shared.ending = Some(Ending::failed(Reason::ContextOverflow, overflow(compaction, failure)));
        return step::close(shared);
    }
    if !compaction.for_retry {
        return step::close(shared);
    }
    // The summary has its price too.
    if let Some(reason) = model::exhausted(shared) {
        shared.ending = Some(Ending::because(reason));
        return step::close(shared);
    }
    model::ask(shared, 1, true)
}

pub(in crate::machine) fn cancelled() -> Fault {
    Fault {
        code: "cancelled".to_owned(),
        message: "Context compression cancelled".to_owned(),
        attribution: FaultAttribution::User,
        detail: None,
    }
}

/// The end of a run that could not be made shorter: how long it is, and what stood against it.
fn overflow(compaction: Compaction, failure: Fault) -> Fault {
    Fault {
        code: "context_overflow".to_owned(),
        message: format!(
            "the conversation has about {} tokens and could not be made shorter: {}",
            compaction.tokens, failure.message
        ),
        attribution: FaultAttribution::User,
        detail: failure.detail,
    }
}
