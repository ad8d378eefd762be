//! What people do.

use jackline_model::ToolRunResult;
use schemars::JsonSchema;
use serde::Deserialize;

/// One thing that a person does. Steps are done in order; each waits until it is due: a decision
/// until somebody is asked, a completion until a call waits for one, the others until nothing runs.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "StepKeys")]
#[schemars(with = "StepKeys")]
pub struct HumanStep {
    /// What is done.
    pub act: HumanAct,
    /// How long the person waits before.
    pub after_ms: u64,
    /// The runtime refuses it, in words that contain this.
    pub refused: Option<String>,
    /// It is done in another process.
    pub elsewhere: bool,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum HumanAct {
    /// These calls may run.
    Approve(Calls),
    /// These may not, and the run ends.
    Reject(Calls, Option<String>),
    /// These may not, and the model reads why.
    RejectAndContinue(Calls, Option<String>),
    /// Several decisions at once.
    Decide(Vec<HumanAct>),
    /// The answer to a question.
    Answer(String),
    /// The result of a call that waits for it.
    Complete(String, Box<ToolRunResult>),
    /// The run is stopped.
    Stop,
    /// A run that ended is gone on with.
    Resume,
    /// The process ends and another goes on.
    Restart,
}

/// Which calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "CallsForm")]
#[schemars(with = "CallsForm")]
pub enum Calls {
    /// All that wait.
    All,
    /// Those with these ids.
    These(Vec<String>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`all`, the id of a call or a list of ids is needed")]
enum CallsForm {
    /// `all`, or the id of one call.
    One(String),
    /// The ids of several.
    Many(Vec<String>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "keys of a file; `HumanAct` is what they mean")]
struct StepKeys {
    /// `all` or the ids of calls that may run.
    approve: Option<Calls>,
    /// `all` or the ids of calls that may not run; the run ends.
    reject: Option<Calls>,
    /// `all` or the ids of calls that may not run; the model goes on.
    reject_and_continue: Option<Calls>,
    /// The person's words, for a rejection.
    reason: Option<String>,
    /// Several decisions in one request.
    decide: Option<Vec<StepKeys>>,
    /// The answer to a question.
    answer: Option<String>,
    /// The id of a call that gets its result.
    complete: Option<String>,
    /// The text of that result.
    content: Option<String>,
    /// Whether the result is a success; true by default.
    success: Option<bool>,
    /// Stops the run.
    #[serde(default)]
    stop: bool,
    /// Goes on with a run that ended.
    #[serde(default)]
    resume: bool,
    /// Ends the process and goes on in another.
    #[serde(default)]
    restart: bool,
    /// How long the person waits before.
    #[serde(default)]
    after_ms: u64,
    /// The runtime refuses it, in words that contain this.
    refused: Option<String>,
    /// It is done in another process.
    #[serde(default)]
    elsewhere: bool,
}

impl TryFrom<StepKeys> for HumanStep {
    type Error = String;

    fn try_from(keys: StepKeys) -> Result<Self, String> {
        let (after_ms, refused, elsewhere) = (keys.after_ms, keys.refused.clone(), keys.elsewhere);
        Ok(Self { act: keys.act()?, after_ms, refused, elsewhere })
    }
}

impl StepKeys {
    fn act(self) -> Result<HumanAct, String> {
        let mut acts = Vec::new();
        acts.extend(self.approve.map(HumanAct::Approve));
        acts.extend(self.reject.map(|calls| HumanAct::Reject(calls, self.reason.clone())));
        acts.extend(self.reject_and_continue.map(|calls| HumanAct::RejectAndContinue(calls, self.reason.clone())));
        if let Some(decisions) = self.decide {
            acts.push(HumanAct::Decide(decisions.into_iter().map(Self::act).collect::<Result<_, _>>()?));
        }
        acts.extend(self.answer.map(HumanAct::Answer));
        if let Some(call) = self.complete {
            let result = ToolRunResult {
                content: self.content.unwrap_or_default(),
                success: self.success.unwrap_or(true),
                ..ToolRunResult::default()
            };
            acts.push(HumanAct::Complete(call, Box::new(result)));
        }
        acts.extend(self.stop.then_some(HumanAct::Stop));
        acts.extend(self.resume.then_some(HumanAct::Resume));
        acts.extend(self.restart.then_some(HumanAct::Restart));
        match (acts.pop(), acts.is_empty()) {
            (Some(act), true) => Ok(act),
            (None, _) => Err(format!("a step needs one of {ACTS}")),
            (Some(_), false) => Err(format!("a step has only one of {ACTS}")),
        }
    }
}

impl From<CallsForm> for Calls {
    fn from(form: CallsForm) -> Self {
        match form {
            CallsForm::One(word) if word == "all" => Self::All,
            CallsForm::One(call) => Self::These(vec![call]),
            CallsForm::Many(calls) => Self::These(calls),
        }
    }
}

const ACTS: &str = "`approve`, `reject`, `reject_and_continue`, `decide`, `answer`, `complete`, `stop`, `resume` and \
                    `restart`";
