//! The client.

use std::fmt;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use jackline_model::{ModelUsage, NanoDollars};
use serde::de::IgnoredAny;

use crate::llm::encode::{Encoder, RequestBody};
use crate::llm::fault::FaultClass;
use crate::llm::{BoxFuture, Delta, DeltaSink, Model, ModelFault, ModelReply, ModelRequest};

use super::builder::{OpenAiModelBuilder, StreamMode};
use super::carrier::Arrived;
use super::reading::{read_answer, read_refusal, silence_fault, transport_fault};
use super::secrets::Secrets;

/// A model behind the chat completions API of OpenAI, or of anything that speaks it.
///
/// One call is one request: nothing is retried here. The connection ends when the future is dropped.
pub struct OpenAiModel {
    client: Client<OpenAIConfig>,
    base_url: String,
    encoder: Encoder,
    stream: StreamMode,
    price: Option<Price>,
    timeouts: Timeouts,
    secrets: Secrets,
}

/// How long silence is borne.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) first_byte: Duration,
    pub(crate) idle: Duration,
}

/// What a million tokens cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Price {
    input: NanoDollars,
    output: NanoDollars,
}

impl OpenAiModel {
    /// Settings to build a client from.
    pub fn builder() -> OpenAiModelBuilder {
        OpenAiModelBuilder::default()
    }

    pub(crate) fn new(
        client: Client<OpenAIConfig>,
        base_url: String,
        encoder: Encoder,
        stream: StreamMode,
        price: Option<Price>,
        timeouts: Timeouts,
        secrets: Secrets,
    ) -> Self {
        Self { client, base_url, encoder, stream, price, timeouts, secrets }
    }

    async fn attempt(&self, request: &ModelRequest<'_>, sink: &mut dyn DeltaSink) -> Result<ModelReply, ModelFault> {
        let stream = match self.stream {
            StreamMode::Auto => sink.wants_deltas(),
            StreamMode::Always => true,
            StreamMode::Never => false,
        };
        let response = self.send(&self.encoder.body(request, stream)).await?;
        if !response.status().is_success() {
            return Err(read_refusal(response, self.timeouts.idle).await);
        }
        let mut reply = if sink.wants_deltas() {
            read_answer(response, self.timeouts.idle, sink).await?
        } else {
            read_answer(response, self.timeouts.idle, &mut NobodyReads).await?
        };
        if let (Some(usage), Some(price)) = (&mut reply.usage, self.price) {
            usage.cost = price.of(usage);
        }
        Ok(reply)
    }

    async fn send(&self, body: &RequestBody<'_>) -> Result<reqwest::Response, ModelFault> {
        let chat = self.client.chat();
        let sent = chat.create_byot::<_, IgnoredAny>(body);
        let outcome = match tokio::time::timeout(self.timeouts.first_byte, sent).await {
            Ok(Ok(IgnoredAny)) => return Err(FaultClass::Unreadable.fault("the answer was lost inside the client")),
            Ok(Err(error)) => Arrived::take_from(error),
            Err(_) => return Err(silence_fault(self.timeouts.first_byte)),
        };
        outcome.map_err(|error| {
            let OpenAIError::Reqwest(error) = error else {
                return FaultClass::InvalidRequest.fault(format!("the request cannot be made: {error}"));
            };
            transport_fault(error)
        })
    }
}

impl Model for OpenAiModel {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        Box::pin(async move { self.attempt(&request, sink).await.map_err(|fault| self.secrets.mask_fault(fault)) })
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModel")
            .field("base_url", &self.base_url)
            .field("encoder", &self.encoder)
            .field("stream", &self.stream)
            .field("price", &self.price)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl Price {
    /// From dollars per million tokens.
    pub(crate) fn new(input_dollars: f64, output_dollars: f64) -> Self {
        Self { input: NanoDollars::from_dollars(input_dollars), output: NanoDollars::from_dollars(output_dollars) }
    }

    fn of(self, usage: &ModelUsage) -> NanoDollars {
        let part = |tokens: u64, price: NanoDollars| i128::from(tokens) * i128::from(price.0) / MILLION;
        let nanos = part(usage.input_tokens, self.input) + part(usage.output_tokens, self.output);
        NanoDollars(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

/// Takes the deltas of a stream that only the provider's side wants.
struct NobodyReads;

impl DeltaSink for NobodyReads {
    fn wants_deltas(&self) -> bool {
        false
    }

    fn delta(&mut self, _: Delta<'_>) {}
}

const MILLION: i128 = 1_000_000;
