//! Time for drivers: the real one, and one that jumps.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use jackline_hooks::HookClock;

/// Where a driver takes its time from.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Milliseconds since the Unix epoch. Never runs backwards.
    fn now_ms(&self) -> u64;

    /// Completes at this time, or at once if it has passed.
    fn sleep_until(&self, at_ms: u64) -> BoxFuture<'static, ()>;

    /// Says that something real is going on, for as long as the hold lives: a virtual clock stands
    /// still meanwhile.
    fn hold(&self) -> Hold;
}

/// A virtual clock stands still while one of these lives. On the real clock it means nothing.
#[derive(Debug, Default)]
#[must_use = "time goes on as soon as it is dropped"]
pub struct Hold(Option<Arc<Mutex<Virtual>>>);

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(time) = &self.0 {
            release(time);
        }
    }
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
    started_ms: u64,
}

impl SystemClock {
    /// Reads the wall clock once; from then on time is monotonic.
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_ms: whole_ms(since_epoch) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        self.started_ms + whole_ms(self.started.elapsed())
    }

    fn sleep_until(&self, at_ms: u64) -> BoxFuture<'static, ()> {
        let wait = Duration::from_millis(at_ms.saturating_sub(self.now_ms()));
        Box::pin(tokio::time::sleep(wait))
    }

    fn hold(&self) -> Hold {
        Hold(None)
    }
}

/// A clock that stands still while anything real goes on and otherwise jumps to the next deadline:
/// a run that waits for hours takes milliseconds.
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<Mutex<Virtual>>);

#[derive(Debug)]
struct Virtual {
    now_ms: u64,
    holds: usize,
    sleepers: BTreeMap<(u64, u64), Sleeper>,
    next_sleeper: u64,
}

#[derive(Debug)]
enum Sleeper {
    Waiting(Option<Waker>),
    /// Its time has come; it holds the clock until it has noticed.
    Due,
}

impl VirtualClock {
    /// A clock that starts at this time.
    pub fn starting_at(now_ms: u64) -> Self {
        Self(Arc::new(Mutex::new(Virtual { now_ms, holds: 0, sleepers: BTreeMap::new(), next_sleeper: 0 })))
    }

    /// Runs a future so that the clock stands still while it works and may jump while it waits.
    pub fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let clock = self.clone();
        let mut future = Box::pin(future);
        std::future::poll_fn(move |context| {
            let _hold = clock.hold();
            future.as_mut().poll(context)
        })
    }

    /// Whether anything waits for a time to come.
    pub fn has_sleepers(&self) -> bool {
        !lock(&self.0).sleepers.is_empty()
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        lock(&self.0).now_ms
    }

    fn sleep_until(&self, at_ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(VirtualSleep { time: Arc::clone(&self.0), at_ms, key: None })
    }

    fn hold(&self) -> Hold {
        lock(&self.0).holds += 1;
        Hold(Some(Arc::clone(&self.0)))
    }
}

struct VirtualSleep {
    time: Arc<Mutex<Virtual>>,
    at_ms: u64,
    key: Option<(u64, u64)>,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let time = Arc::clone(&self.time);
        let mut time = lock(&time);
        let Some(key) = self.key else {
            if self.at_ms <= time.now_ms {
                return Poll::Ready(());
            }
            let key = (self.at_ms, time.next_sleeper);
            time.next_sleeper += 1;
            time.sleepers.insert(key, Sleeper::Waiting(Some(context.waker().clone())));
            self.key = Some(key);
            return Poll::Pending;
        };
        match time.sleepers.get_mut(&key) {
            Some(Sleeper::Waiting(waker)) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Some(Sleeper::Due) | None => {
                drop(time);
                self.forget();
                Poll::Ready(())
            }
        }
    }
}

impl VirtualSleep {
    fn forget(&mut self) {
        let Some(key) = self.key.take() else { return };
        let removed = lock(&self.time).sleepers.remove(&key);
        if matches!(removed, Some(Sleeper::Due)) {
            release(&self.time);
        }
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Gives one hold back; the last one lets the clock jump.
fn release(time: &Arc<Mutex<Virtual>>) {
    let mut woken = Vec::new();
    {
        let mut time = lock(time);
        time.holds = time.holds.saturating_sub(1);
        if time.holds == 0 {
            jump(&mut time, &mut woken);
        }
    }
    // Outside the lock: a waker may poll at once.
    for waker in woken {
        waker.wake();
    }
}

/// Jumps to the next deadline. Everything that is due then holds the clock until it has noticed.
fn jump(time: &mut Virtual, woken: &mut Vec<Waker>) {
    let Some(((at_ms, _), _)) = time.sleepers.first_key_value() else { return };
    time.now_ms = time.now_ms.max(*at_ms);
    let now_ms = time.now_ms;
    let mut due = 0;
    for (_, sleeper) in time.sleepers.range_mut(..=(now_ms, u64::MAX)) {
        if let Sleeper::Waiting(waker) = std::mem::replace(sleeper, Sleeper::Due) {
            woken.extend(waker);
            due += 1;
        }
    }
    time.holds += due;
}

fn lock(time: &Mutex<Virtual>) -> MutexGuard<'_, Virtual> {
    time.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of a driver, as hooks see it.
#[derive(Debug)]
pub struct HookTime(pub Arc<dyn Clock>);

impl HookClock for HookTime {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now_ms())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0.sleep_until(self.0.now_ms().saturating_add(whole_ms(duration)))
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hours_pass_in_no_time_and_in_order() {
        let clock = VirtualClock::starting_at(1_000);
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleeper = |hours: u64| {
            let (clock, order) = (clock.clone(), Arc::clone(&order));
            async move {
                clock.sleep_until(1_000 + hours * 3_600_000).await;
                order.lock().unwrap().push((hours, clock.now_ms()));
            }
        };
        clock.run(futures_util::future::join3(sleeper(3), sleeper(1), sleeper(2))).await;
        assert_eq!(*order.lock().unwrap(), [(1, 3_601_000), (2, 7_201_000), (3, 10_801_000)]);
    }

    #[tokio::test]
    async fn time_stands_still_while_a_hold_lives() {
        let clock = VirtualClock::starting_at(0);
        let hold = clock.hold();
        let sleep = clock.sleep_until(5);
        tokio::pin!(sleep);
        assert!(futures_util::poll!(&mut sleep).is_pending());
        assert_eq!(clock.now_ms(), 0);
        drop(hold);
        assert_eq!(clock.now_ms(), 5);
        sleep.await;
    }
}
