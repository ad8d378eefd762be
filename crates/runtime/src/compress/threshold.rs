//! When a history is too long.

use serde::{Deserialize, Serialize};

/// What the threshold depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThresholdSettings {
    /// Whether histories are folded at all.
    pub enabled: bool,
    /// The model's window in tokens, where it is known.
    pub window: Option<u64>,
    /// The longest answer of the model in tokens, where it is known.
    pub output_tokens_max: Option<u64>,
    /// The threshold as a part of the window, instead of the window less a reserve.
    pub threshold_ratio: Option<f64>,
    /// The same once there is a summary.
    pub recompression_ratio: Option<f64>,
    /// What a count is multiplied with before it is compared: providers count more than we do.
    pub drift: f64,
}

impl Default for ThresholdSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            window: None,
            output_tokens_max: None,
            threshold_ratio: None,
            recompression_ratio: None,
            drift: DRIFT,
        }
    }
}

/// What the bytes of a request tell about its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// It fits, however it is tokenised: no need to count.
    Fits,
    /// It may not fit: count, then ask [`exceeds`](ThresholdSettings::exceeds).
    Count,
}

impl ThresholdSettings {
    /// The threshold in tokens. Higher once there is a summary, so that a fold is not followed by
    /// the next one at once.
    ///
    /// ```
    /// use jackline_runtime::compress::ThresholdSettings;
    /// assert_eq!(ThresholdSettings::default().threshold(false), 95_000);
    /// ```
    pub fn threshold(&self, has_summary: bool) -> u64 {
        let window = self.window.unwrap_or(WINDOW_TOKENS);
        let base = match self.threshold_ratio {
            Some(ratio) => part_of(window, ratio),
            None => {
                let answer = self.output_tokens_max.unwrap_or(ANSWER_TOKENS_MAX).min(ANSWER_TOKENS_MAX);
                window.saturating_sub(answer + RESERVE_TOKENS).max(part_of(window, BASE_RATIO_MIN))
            }
        };
        match (has_summary, self.recompression_ratio) {
            (false, _) => base,
            (true, Some(ratio)) => part_of(window, ratio),
            (true, None) => base.max(part_of(window, RECOMPRESSION_RATIO)),
        }
    }

    /// What the bytes of all messages and tool definitions tell. No tokeniser makes more tokens
    /// than bytes.
    pub fn size_bytes(&self, bytes: u64, has_summary: bool) -> Sizing {
        if self.exceeds(bytes, has_summary) { Sizing::Count } else { Sizing::Fits }
    }

    /// Whether a history of this many tokens must be folded.
    pub fn exceeds(&self, tokens: u64, has_summary: bool) -> bool {
        self.enabled && self.adjusted(tokens) > self.threshold(has_summary)
    }

    /// The count that is compared with the threshold.
    pub fn adjusted(&self, tokens: u64) -> u64 {
        // Counts are far below 2^53, where the product would begin to lose digits.
        (tokens as f64 * self.drift).ceil() as u64
    }
}

/// How many tokens at the end of a history are kept as they are.
pub fn tail_budget(threshold: u64) -> u64 {
    part_of(threshold, TAIL_RATIO).min(TAIL_TOKENS_MAX)
}

fn part_of(whole: u64, ratio: f64) -> u64 {
    // A float-to-integer cast saturates and maps NaN to zero.
    (whole as f64 * ratio).floor() as u64
}

/// The window of a model that nothing is known about: what current models have at least.
const WINDOW_TOKENS: u64 = 128_000;
/// The part of a window that is kept free for the answer: few answers are longer.
const ANSWER_TOKENS_MAX: u64 = 20_000;
/// Kept free besides: the summary request and what a turn of tools adds.
const RESERVE_TOKENS: u64 = 13_000;
/// Small windows would be all reserve: half of a window is always used.
const BASE_RATIO_MIN: f64 = 0.5;
/// With a summary at least this much of the window is used before the next fold.
const RECOMPRESSION_RATIO: f64 = 0.65;
/// A quarter more than counted: chat templates and providers' own tokenisers.
const DRIFT: f64 = 1.25;
/// A fifth of the threshold is kept at the end: enough for the work in hand.
const TAIL_RATIO: f64 = 0.2;
/// With a huge window a fifth would be a book.
const TAIL_TOKENS_MAX: u64 = 32_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(tokens: u64) -> ThresholdSettings {
        ThresholdSettings { window: Some(tokens), ..ThresholdSettings::default() }
    }

    fn ratio(tokens: u64, ratio: f64) -> ThresholdSettings {
        ThresholdSettings { threshold_ratio: Some(ratio), ..window(tokens) }
    }

    #[test]
    fn cmp_01_unknown_model_has_the_default_window() {
        assert_eq!(ThresholdSettings::default().threshold(false), 95_000);
    }

    #[test]
    fn cmp_02_large_windows_keep_the_same_reserve() {
        assert_eq!(window(200_000).threshold(false), 167_000);
        assert_eq!(window(1_048_576).threshold(false), 1_015_576);
    }

    #[test]
    fn cmp_03_reserve_for_the_answer_is_capped() {
        for output_tokens_max in [32_000, 128_000] {
            let settings = ThresholdSettings { output_tokens_max: Some(output_tokens_max), ..window(256_000) };
            assert_eq!(settings.threshold(false), 223_000);
        }
    }

    #[test]
    fn cmp_04_short_answers_need_less_reserve() {
        let settings = ThresholdSettings { output_tokens_max: Some(4_096), ..window(128_000) };
        assert_eq!(settings.threshold(false), 110_904);
    }

    #[test]
    fn cmp_05_small_windows_use_half() {
        assert_eq!(window(32_000).threshold(false), 16_000);
        assert_eq!(window(8_000).threshold(false), 4_000);
        assert_eq!(window(0).threshold(false), 0);
    }

    #[test]
    fn cmp_06_explicit_ratio_replaces_the_reserve() {
        assert_eq!(ratio(128_000, 0.5).threshold(false), 64_000);
        assert_eq!(ratio(100_000, 0.8).threshold(false), 80_000);
        assert_eq!(ratio(100_000, 0.1).threshold(false), 10_000);
        assert_eq!(ratio(100, 0.33).threshold(false), 33);
    }

    #[test]
    fn cmp_07_summary_raises_the_threshold() {
        assert_eq!(ratio(64_000, 0.5).threshold(true), 41_600);
    }

    #[test]
    fn cmp_08_summary_never_lowers_it() {
        assert_eq!(window(256_000).threshold(true), 223_000);
    }

    #[test]
    fn cmp_09_explicit_recompression_ratio_wins_both_ways() {
        let with = |tokens, ratio| ThresholdSettings { recompression_ratio: Some(ratio), ..window(tokens) };
        assert_eq!(with(64_000, 0.6).threshold(true), 38_400);
        assert_eq!(with(256_000, 0.95).threshold(true), 243_200);
    }

    #[test]
    fn cmp_10_drift_counts_a_quarter_more() {
        let settings = ThresholdSettings::default();
        assert!(settings.exceeds(90_000, false));
        assert!(settings.exceeds(95_000, false));
        assert!(!settings.exceeds(76_000, false), "95,000 adjusted is not over 95,000");
        assert!(settings.exceeds(76_001, false));
    }

    #[test]
    fn cmp_11_without_drift_the_count_itself_is_compared() {
        let settings = ThresholdSettings { drift: 1.0, ..ThresholdSettings::default() };
        assert!(!settings.exceeds(95_000, false));
    }

    #[test]
    fn cmp_12_nothing_is_never_too_long() {
        assert!(!ThresholdSettings::default().exceeds(0, false));
        assert!(!window(0).exceeds(0, false));
    }

    #[test]
    fn settings_may_turn_folding_off() {
        let settings = ThresholdSettings { enabled: false, ..ThresholdSettings::default() };
        assert!(!settings.exceeds(10_000_000, false));
    }

    #[test]
    fn bytes_that_fit_need_no_count() {
        let settings = ThresholdSettings::default();
        assert_eq!(settings.size_bytes(76_000, false), Sizing::Fits);
        assert_eq!(settings.size_bytes(76_001, false), Sizing::Count);
    }

    #[test]
    fn tail_is_a_fifth_of_the_threshold_and_bounded() {
        assert_eq!(tail_budget(95_000), 19_000);
        assert_eq!(tail_budget(1_015_576), 32_000);
        assert_eq!(tail_budget(0), 0);
    }
}
