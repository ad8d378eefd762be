//! Token counts, as far as a server tells them.

use jackline_model::ModelUsage;
use serde_json::Value;

use super::chunk::count;

/// The counts that have been told so far; what was not told is unknown, not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsageReport {
    input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
}

impl UsageReport {
    /// Takes a usage object. Servers that repeat it send running totals: the last word counts.
    pub(crate) fn handle(&mut self, usage: &Value) {
        let newest = |names: [&str; 2], old: Option<u64>| names.iter().find_map(|name| count(&usage[*name])).or(old);
        self.input = newest(["prompt_tokens", "input_tokens"], self.input);
        self.output = newest(["completion_tokens", "output_tokens"], self.output);
        self.total = newest(["total_tokens", "total"], self.total);
    }

    /// The counts, the missing one derived from the others where that is possible.
    pub(crate) fn usage(self) -> Option<ModelUsage> {
        let Self { input, output, total } = self;
        if (input, output, total) == (None, None, None) {
            return None;
        }
        let rest = |known: Option<u64>| total.map_or(0, |total| total.saturating_sub(known.unwrap_or(0)));
        let input_tokens = input.unwrap_or_else(|| rest(output));
        let output_tokens = output.unwrap_or_else(|| rest(Some(input_tokens)));
        let total_tokens = total.unwrap_or_else(|| input_tokens.saturating_add(output_tokens));
        Some(ModelUsage { input_tokens, output_tokens, total_tokens, ..ModelUsage::default() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn c048_missing_counts_are_derived_or_absent() {
        for (usage, expected) in [
            (json!({}), None),
            (json!(null), None),
            (json!({"prompt_tokens": null, "completion_tokens": 12}), Some((0, 12, 12))),
            (json!({"prompt_tokens": 20, "completion_tokens": 6}), Some((20, 6, 26))),
            (json!({"total_tokens": 26, "prompt_tokens": 20}), Some((20, 6, 26))),
            (json!({"input_tokens": 20, "output_tokens": "6"}), Some((20, 6, 26))),
            (json!({"prompt_tokens": 1, "completion_tokens": u64::MAX}), Some((1, u64::MAX, u64::MAX))),
        ] {
            let mut report = UsageReport::default();
            report.handle(&usage);
            let told = report.usage().map(|told| (told.input_tokens, told.output_tokens, told.total_tokens));
            assert_eq!(told, expected, "{usage}");
        }
    }

    #[test]
    fn repeated_usage_is_not_added_up() {
        let mut report = UsageReport::default();
        report.handle(&json!({"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21}));
        report.handle(&json!({"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26}));
        assert_eq!(report.usage().unwrap().total_tokens, 26);
    }
}
