//! What a process has used, and what several tries say.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU that all threads of this process have used.
pub(crate) fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(used.tv_sec).unwrap_or(0), u32::try_from(used.tv_nsec).unwrap_or(0))
}

/// The most memory that this process has had, in bytes.
pub(crate) fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().map_or(0, |kilobytes| kilobytes * 1024)
}

/// What several tries took, in microseconds each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tries(Vec<f64>);

impl Tries {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, microseconds: f64) {
        self.0.push(microseconds);
    }

    /// The least: what it costs when nobody else uses the machine.
    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The same tries, each as a part of the other runner's in the same turn, or less by it. The
    /// machine's moods last longer than a turn, so they cancel out.
    pub(crate) fn against(&self, other: &Self, compare: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(own, other)| compare(*own, *other)).collect())
    }
}

/// Microseconds, each of `parts`.
pub(crate) fn micros_each(used: Duration, parts: usize) -> f64 {
    used.as_secs_f64() * 1e6 / parts.max(1) as f64
}
