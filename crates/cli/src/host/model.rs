//! The model that an agent file asks for.

use std::sync::Arc;

use jackline_model::{Fault, FaultAttribution};
use jackline_runtime::agent::ModelConfig;
use jackline_runtime::llm::{
    BoxFuture, DeltaSink, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, OpenAiModel, OpenAiModelBuilder,
};

use super::frozen::Frozen;
use super::script::FileScript;
use super::summaries::WithSummarizer;
use crate::problem::Problem;

/// Whether a runtime will ask its models anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelNeed {
    /// It may.
    Asked,
    /// It only ends a run or writes something down: no key is needed.
    NeverAsked,
}

/// The agent's model: its script, or a client of its provider.
pub(crate) fn model_of(frozen: &Frozen) -> Result<Arc<dyn Model>, Problem> {
    let prices = frozen.config.model.as_ref().and_then(|model| model.prices.clone());
    if let Some(script) = &frozen.script {
        return Ok(Arc::new(FileScript::new(script.clone(), prices)));
    }
    let Some(config) = &frozen.config.model else {
        let message = format!("agent `{}` has neither a `model` nor a `script`", frozen.config.name);
        return Err(Problem::usage(message).hint("Add one of the two to its file, such as: model = \"gpt-5-mini\""));
    };
    let model: Arc<dyn Model> = Arc::new(client(config)?);
    Ok(match &frozen.config.compression.model {
        Some(summarizer) => Arc::new(WithSummarizer { model, summarizer: summarizer.clone() }),
        None => model,
    })
}

/// Finds out whether the agent's model can be asked, without making its client: that reads all
/// certificates of the machine, which is most of what a start costs.
pub(crate) fn check_model(frozen: &Frozen) -> Result<(), Problem> {
    match (&frozen.script, &frozen.config.model) {
        (None, Some(config)) => settings(config).map(|_| ()),
        (Some(_), _) | (None, None) => model_of(frozen).map(|_| ()),
    }
}

fn client(config: &ModelConfig) -> Result<OpenAiModel, Problem> {
    let built = settings(config)?.build();
    built.map_err(|error| Problem::usage(format!("the model `{}`: {error}", config.name)))
}

fn settings(config: &ModelConfig) -> Result<OpenAiModelBuilder, Problem> {
    let mut builder = OpenAiModel::builder().from_env();
    let has_address = config.base_url.is_some() || has_value("OPENAI_BASE_URL");
    if let Some(base_url) = &config.base_url {
        builder = builder.base_url(base_url);
    }
    match &config.api_key_env {
        Some(name) => match std::env::var(name) {
            Ok(key) if !key.is_empty() => builder = builder.api_key(key),
            Ok(_) | Err(_) => {
                let message = format!("the variable `{name}` holds no key, and the agent file names it for the model");
                return Err(Problem::usage(message).hint(format!("Set it: export {name}=...")));
            }
        },
        // A server of one's own often wants no key; the provider behind the default address does.
        None if !has_address && !has_value("OPENAI_API_KEY") => return Err(no_key()),
        None => {}
    }
    builder = builder.wire(config.dialect.into());
    if let Some(prices) = &config.prices {
        builder = builder.price_per_million(prices.input_per_million, prices.output_per_million);
    }
    Ok(builder)
}

/// There is nobody to ask.
fn no_key() -> Problem {
    Problem::usage("no model can be reached: OPENAI_API_KEY is not set").hint(
        "Set it, or set OPENAI_BASE_URL to a server that needs no key, or name an agent file with a script.\n\
         To see a run without any key: jackline run examples/tour",
    )
}

fn has_value(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The model of a runtime that never asks one.
pub(crate) struct NoModel;

impl Model for NoModel {
    fn call<'a>(
        &'a self,
        _request: ModelRequest<'a>,
        _sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        let fault = Fault {
            code: "no_model".to_owned(),
            message: "this command has no model".to_owned(),
            attribution: FaultAttribution::Harness,
            detail: None,
        };
        let failed = ModelFault { kind: ModelFaultKind::Permanent, fault, retry_after: None, partial: String::new() };
        Box::pin(std::future::ready(Err(failed)))
    }
}
