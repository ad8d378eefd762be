//! What it costs to ask a hook that does nothing, and not to ask one that is not there.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use jackline_hooks::{BeforeStepEvent, Event, HookDispatcher, HookHandle, HookKind, Hooks, Rounds, RunContext};
use jackline_runtime::drive::{HookTime, SystemClock};

use crate::Failed;
use crate::measure::Tries;
use crate::table::{Goals, Measure, line, section};

/// Measures both, with the clock that a runtime has.
pub(crate) fn bench(goals: &mut Goals) -> Result<(), Failed> {
    section("Hooks: one dispatch");
    let dispatcher = HookDispatcher::new(Arc::new(HookTime(Arc::new(SystemClock::new()))));
    let observe = |hooks: Hooks, id: &str| -> Result<HookHandle, Failed> {
        dispatcher.register(&id.into(), hooks)?;
        Ok(dispatcher.handle(&Rounds::of(id)))
    };
    let heard = observe(Hooks::new().before_step("noop", |_step| std::future::ready(())).into(), "op_heard")?;
    let silent = observe(Hooks::new().after_step("other", |_step| std::future::ready(())).into(), "op_silent")?;
    let event: Event = event();
    let made = nanos(|| {
        black_box(heard.dispatch(HookKind::BeforeStep, || event.clone()).now_or_never());
    });
    let built = nanos(|| {
        black_box(heard.dispatch(HookKind::BeforeStep, self::event).now_or_never());
    });
    let unheard = nanos(|| {
        // As every driver does: it asks whether there is anybody before it makes an event.
        if black_box(&silent).wants(HookKind::BeforeStep) {
            black_box(silent.dispatch(HookKind::BeforeStep, self::event).now_or_never());
        }
    });
    let through = nanos(|| {
        black_box(silent.dispatch(HookKind::BeforeStep, self::event).now_or_never());
    });
    goals.check("a native hook that does nothing", Measure::Nanos, made, 100.0);
    goals.check("no hook for the event", Measure::Nanos, unheard, 10.0);
    line(&format!(
        "  the hook with the event built for it {built:.1} ns; no hook, through the whole dispatch {through:.1} ns"
    ));
    Ok(())
}

fn event() -> Event {
    let run = RunContext::new("op_0123456789abcdef0123456789abcdef", "agent", "local");
    BeforeStepEvent { run, step_index: 3, steps: 3 }.into()
}

/// The least time of one call over several tries.
fn nanos(mut call: impl FnMut()) -> f64 {
    let mut tries = Tries::default();
    for _ in 0..TRIES {
        let started = Instant::now();
        (0..CALLS).for_each(|_| call());
        tries.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    tries.least()
}

const TRIES: u32 = 30;
const CALLS: u32 = 20_000;
