//! How long to wait before the next attempt. Pure: chance comes in as a number, time not at all.

use std::time::Duration;

/// Attempts of one model call, the first included. Five retries outlast most outages of a minute.
pub const ATTEMPTS_MAX: u32 = 6;

/// The wait after a failed attempt, counted from 1.
///
/// What the provider asks for wins, zero included. Otherwise the wait doubles from one second up to
/// thirty, less up to a quarter of it by `jitter`, a number from 0 to 1 that keeps many runs from
/// coming back at once.
///
/// ```
/// use std::time::Duration;
/// use jackline_runtime::llm::retry::delay_after;
/// assert_eq!(delay_after(3, 0.0, None), Duration::from_secs(4));
/// assert_eq!(delay_after(3, 1.0, None), Duration::from_secs(3));
/// assert_eq!(delay_after(3, 0.0, Some(Duration::ZERO)), Duration::ZERO);
/// ```
pub fn delay_after(attempt: u32, jitter: f64, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked;
    }
    let doublings = attempt.saturating_sub(1).min(DOUBLINGS_MAX);
    let whole = DELAY_FIRST.saturating_mul(1 << doublings).min(DELAY_MAX);
    // `clamp` keeps what is not a number, and `max` turns that into zero.
    whole.mul_f64(1.0 - JITTER_SHARE * jitter.clamp(0.0, 1.0).max(0.0))
}

const DELAY_FIRST: Duration = Duration::from_secs(1);

/// Longer waits look like a hang to whoever watches the run.
const DELAY_MAX: Duration = Duration::from_secs(30);

/// More would only overflow: the longest wait is reached after five.
const DOUBLINGS_MAX: u32 = 16;

const JITTER_SHARE: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llm_13_delays_double_up_to_thirty_seconds() {
        let delays: Vec<u64> = (1..=7).map(|attempt| delay_after(attempt, 0.0, None).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(delay_after(u32::MAX, 0.0, None), DELAY_MAX);
    }

    #[test]
    fn jitter_takes_away_a_quarter_at_most() {
        for jitter in [f64::NAN, -1.0, 0.0, 0.5, 1.0, 7.0, f64::INFINITY] {
            let delay = delay_after(2, jitter, None);
            assert!((Duration::from_millis(1500)..=Duration::from_secs(2)).contains(&delay), "{jitter}: {delay:?}");
        }
    }

    #[test]
    fn c136_what_the_provider_asks_for_wins() {
        assert_eq!(delay_after(1, 0.5, Some(Duration::from_millis(1500))), Duration::from_millis(1500));
        assert_eq!(delay_after(6, 0.5, Some(Duration::ZERO)), Duration::ZERO);
    }
}
