//! The HTTP point of async-openai.
//!
//! That crate builds the request: address, headers, key, body. Its own reading of answers is not
//! used: it loses the status of most error bodies, does not tell a stream that ended from one that
//! was cut off, and stops at the first field that a server writes differently. So the service here
//! hands the response out, through the one way that the crate leaves untouched: a boxed error.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::AUTHORIZATION;
use tower::Service;

/// Sends a request once. There is no retry here: retries are transitions of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    http: reqwest::Client,
    has_key: bool,
}

impl Carrier {
    /// A service that sends through this client; without a key no empty one is sent.
    pub(crate) fn new(http: reqwest::Client, has_key: bool) -> Self {
        Self { http, has_key }
    }
}

impl Service<HttpRequestFactory> for Carrier {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let Self { http, has_key } = self.clone();
        Box::pin(async move {
            let mut request = factory.build().await?;
            if !has_key {
                request.headers_mut().remove(AUTHORIZATION);
            }
            let response = http.execute(request).await?;
            Err(OpenAIError::Boxed(Box::new(Arrived(Mutex::new(response)))))
        })
    }
}

/// A response on its way past async-openai.
pub(crate) struct Arrived(Mutex<reqwest::Response>);

impl Arrived {
    /// The response in an error of async-openai.
    ///
    /// # Errors
    ///
    /// The error itself, if it holds none: then nothing arrived.
    pub(crate) fn take_from(error: OpenAIError) -> Result<reqwest::Response, OpenAIError> {
        let OpenAIError::Boxed(boxed) = error else { return Err(error) };
        let arrived = boxed.downcast::<Self>().map_err(OpenAIError::Boxed)?;
        Ok(arrived.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl fmt::Debug for Arrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrived")
    }
}

impl fmt::Display for Arrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a response that arrived")
    }
}

impl std::error::Error for Arrived {}
