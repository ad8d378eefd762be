//! What a run has used.

use serde::{Deserialize, Serialize};

use crate::NanoDollars;

/// The tokens of one model call, as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUsage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// The provider's own total, which may count more than the sum of the two.
    pub total_tokens: u64,
    /// What the call cost, when the price of the model is known.
    pub cost: NanoDollars,
}

/// Running totals of one operation, its finished children included once each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Totals {
    /// Model calls that reported usage.
    pub llm_calls: u64,
    /// Tool calls that were executed, mocked or denied. Aborted and blocked calls are not counted.
    pub tool_calls: u64,
    /// Tokens of all requests.
    pub input_tokens: u64,
    /// Tokens of all answers.
    pub output_tokens: u64,
    /// Sum of the providers' own totals.
    pub total_tokens: u64,
    /// What was spent.
    pub cost: NanoDollars,
}

impl Totals {
    /// Adds one model call.
    pub fn add_model_call(&mut self, usage: &ModelUsage) {
        self.llm_calls += 1;
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(usage.total_tokens);
        self.cost += usage.cost;
    }

    /// Adds one tool call and its price.
    pub fn add_tool_call(&mut self, cost: NanoDollars) {
        self.tool_calls += 1;
        self.cost += cost;
    }

    /// Adds what a finished child used.
    pub fn add_child(&mut self, child: &Totals) {
        self.llm_calls += child.llm_calls;
        self.tool_calls += child.tool_calls;
        self.input_tokens = self.input_tokens.saturating_add(child.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(child.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(child.total_tokens);
        self.cost += child.cost;
    }
}
