//! The model: asking, answers, failures, asking again.

use jackline_model::Reason;

use super::{compact, step};
use crate::machine::calls::Calls;
use crate::machine::effect::Effect;
use crate::machine::id::{Unit, Verb};
use crate::machine::input::{FailureKind, ModelFailure, Reply};
use crate::machine::instruction::Phase;
use crate::machine::limits;
use crate::machine::shared::Shared;
use crate::machine::state::{Ending, State};
use crate::repeat::{RepeatVerdict, Signature};

/// Asks the model, unless a limit stands against it.
pub(in crate::machine) fn call(shared: &mut Shared) -> State {
    if let Some(reason) = exhausted(shared) {
        shared.ending = Some(Ending::because(reason));
        return step::close(shared);
    }
    shared.force_finish = shared.is_out_of_steps();
    ask(shared, 1, false)
}

/// The limit that forbids another model call, if one does.
pub(in crate::machine) fn exhausted(shared: &Shared) -> Option<Reason> {
    if shared.settings.cost_max.is_some_and(|max| shared.totals.cost >= max) {
        return Some(Reason::CostLimit);
    }
    if shared.settings.tokens_max.is_some_and(|max| shared.totals.total_tokens >= max) {
        return Some(Reason::TokenLimit);
    }
    None
}

pub(in crate::machine) fn ask(shared: &mut Shared, attempt: u16, compressed: bool) -> State {
    let with_tools = !shared.force_finish;
    let name = attempt - 1 + u16::from(compressed) * shared.settings.model_attempts_max.max(1);
    shared.emit(Unit::Model, Verb::Ask, name, Effect::CallModel { with_tools });
    State::CallingModel { attempt, compressed }
}

/// The model answered.
pub(in crate::machine) fn replied(shared: &mut Shared, reply: &Reply) -> State {
    shared.called_model = true;
    shared.question = false;
    shared.expires_at = None;
    if let Some(usage) = &reply.usage {
        shared.totals.add_model_call(usage);
    }
    let facts = &reply.calls[..reply.calls.len().min(limits::CALLS_PER_TURN_MAX)];
    shared.calls = Calls::open(facts);
    shared.phase = Phase::LlmResult;
    if reply.aborted {
        shared.phase = Phase::HumanAbort;
        return step::close(shared);
    }
    shared.unresolved_rounds = if reply.unresolved { shared.unresolved_rounds.saturating_add(1) } else { 0 };
    let signatures: Vec<Signature> = facts.iter().map(|facts| facts.signature).collect();
    let repeats = shared.repeat.note_turn(&signatures) == RepeatVerdict::Stop;
    shared.doom = doom(shared, repeats);
    step::close(shared)
}

fn doom(shared: &Shared, repeats: bool) -> Option<Reason> {
    if shared.calls.is_empty() {
        return None;
    }
    if shared.force_finish {
        return Some(Reason::MaxSteps);
    }
    if repeats {
        return Some(Reason::ToolCallRepeatLimit);
    }
    (shared.unresolved_rounds >= limits::UNRESOLVED_ROUNDS_MAX).then_some(Reason::UnresolvedTools)
}

/// The model did not answer.
pub(in crate::machine) fn failed(shared: &mut Shared, attempt: u16, compressed: bool, failure: ModelFailure) -> State {
    if shared.stop_requested {
        return step::close(shared);
    }
    match failure.kind {
        FailureKind::Retryable if attempt < shared.settings.model_attempts_max => {
            let until = retry_at(shared, attempt, &failure);
            State::WaitingToRetry { attempt, compressed, until }
        }
        FailureKind::ContextOverflow => match failure.compaction {
            Some(need) if !compressed => compact::announce(shared, need, true),
            Some(_) | None => end(shared, Reason::ContextOverflow, failure),
        },
        FailureKind::Retryable | FailureKind::Permanent => end(shared, Reason::Error, failure),
        FailureKind::Cancelled => {
            shared.ending = Some(Ending::because(Reason::Interrupted));
            step::close(shared)
        }
    }
}

fn end(shared: &mut Shared, reason: Reason, failure: ModelFailure) -> State {
    shared.ending = Some(Ending::failed(reason, failure.fault));
    step::close(shared)
}

/// When a call that has failed is made again.
pub(in crate::machine) fn retry_at(shared: &Shared, attempt: u16, failure: &ModelFailure) -> u64 {
    shared.now.saturating_add(back_off_ms(attempt, failure.retry_after_ms, failure.jitter_permille))
}

/// How long to wait after a failed attempt, counted from 1: doubles from one second to thirty, plus
/// up to a tenth by chance, so that many runs do not come back at once. What the provider asks for
/// wins, zero included, up to two minutes.
fn back_off_ms(attempt: u16, asked_ms: Option<u64>, jitter_permille: u16) -> u64 {
    if let Some(asked) = asked_ms {
        return asked.min(limits::RETRY_AFTER_MAX_MS);
    }
    let doublings = u32::from(attempt.saturating_sub(1)).min(DOUBLINGS_MAX);
    let wait = (limits::BACKOFF_FIRST_MS << doublings).min(limits::BACKOFF_MAX_MS);
    wait + wait * u64::from(jitter_permille.min(1_000)) / 10_000
}

/// More would only overflow: the longest wait is reached after five.
const DOUBLINGS_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llm_13_delays_double_up_to_thirty_seconds() {
        let delays: Vec<u64> = (1..=7).map(|attempt| back_off_ms(attempt, None, 0)).collect();
        assert_eq!(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(back_off_ms(u16::MAX, None, 0), limits::BACKOFF_MAX_MS);
    }

    #[test]
    fn chance_adds_a_tenth_at_most() {
        assert_eq!([0, 500, 1_000, u16::MAX].map(|jitter| back_off_ms(2, None, jitter)), [2_000, 2_100, 2_200, 2_200]);
    }

    #[test]
    fn c136_what_the_provider_asks_for_wins() {
        assert_eq!(back_off_ms(1, Some(1_500), 500), 1_500);
        assert_eq!(back_off_ms(6, Some(0), 500), 0);
        assert_eq!(back_off_ms(1, Some(u64::MAX), 0), limits::RETRY_AFTER_MAX_MS);
    }
}
