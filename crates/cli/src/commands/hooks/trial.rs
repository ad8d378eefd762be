//! What trying hooks out needs besides asking them: an end on request, and words for failures.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_hooks::{
    Carriers, CommandCarrier, CommandReply, CommandRequest, ControlReply, FaultCode, HookFault, Receipt,
    WebhookCarrier, WebhookRequest,
};
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::run::{Signals, block_on};

/// Runs a trial until it is done or a signal comes. A signal drops it, and with it the programs that it waits for.
pub(super) fn block_on_trial<T>(trial: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    block_on(async {
        let signals = Signals::new()?;
        tokio::select! {
            outcome = trial => outcome,
            () = signals.first() => Err(Problem::interrupted("interrupted before all hooks had answered")),
        }
    })
}

/// Why hooks gave no answer: receipts have only the class.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(Arc<Mutex<VecDeque<(String, HookFault)>>>);

impl Faults {
    /// The same carriers, whose failures are remembered.
    pub(super) fn of(&self, carriers: Carriers) -> Carriers {
        Carriers {
            webhook: carriers.webhook.map(|inner| Arc::new(Watched { inner, faults: self.clone() }) as _),
            command: carriers.command.map(|inner| Arc::new(Watched { inner, faults: self.clone() }) as _),
            spawn: carriers.spawn,
        }
    }

    /// What to know about the failure that this receipt is about. Each failure is told once, in order.
    pub(super) fn why(&self, receipt: &Receipt) -> Option<String> {
        let code = receipt.fault?;
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |(hook, fault): &(String, HookFault)| *hook == *receipt.hook.as_str() && fault.code() == code;
        let fault = faults.iter().position(is_meant).and_then(|at| faults.remove(at)).map(|(_, fault)| fault);
        Some(words(&fault.unwrap_or_else(|| code.into())))
    }

    fn keep<T>(&self, hook: String, outcome: Result<T, HookFault>) -> Result<T, HookFault> {
        outcome.inspect_err(|fault| {
            let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            faults.push_back((hook, fault.clone()));
        })
    }
}

/// A fault in words that say what to do. None of them comes from a receiver.
pub(super) fn words(fault: &HookFault) -> String {
    if let Some(diagnostic) = fault.diagnostic() {
        return diagnostic.to_owned();
    }
    match (fault.code(), fault.status()) {
        (FaultCode::HttpError, Some(status @ 300..400)) => {
            format!("status {status}: redirects are not followed; give the URL that they lead to")
        }
        (FaultCode::HttpError, Some(status)) => format!("status {status}: answer with 200"),
        (FaultCode::HttpError, None) => "a status other than 200".to_owned(),
        (FaultCode::OutboxFull, _) => "too many deliveries wait: `jackline hooks outbox list`".to_owned(),
        (FaultCode::CommandFailed, Some(code)) => {
            format!("exit code {code}: run the program by hand with the event on its input")
        }
        (FaultCode::CommandFailed, None) => "the program was ended by a signal".to_owned(),
        (FaultCode::Configuration, _) => "it cannot be reached as it is configured".to_owned(),
        (FaultCode::InvalidResponse, _) => "no answer that exists: `allow` or `deny`, in UTF-8".to_owned(),
        (FaultCode::NetworkError, _) => "see that the receiver runs and can be reached".to_owned(),
        (FaultCode::ResponseTooLarge, _) => "answer with the decision alone".to_owned(),
        (FaultCode::Timeout, _) => "answer sooner, or give the hook a longer `timeout`".to_owned(),
    }
}

#[derive(Debug)]
struct Watched<C: ?Sized> {
    inner: Arc<C>,
    faults: Faults,
}

impl WebhookCarrier for Watched<dyn WebhookCarrier> {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let (hook, faults) = (hook_of(&request.payload), self.faults.clone());
        self.inner.notify(request).map(move |outcome| faults.keep(hook, outcome)).boxed()
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        let (hook, faults) = (hook_of(&request.payload), self.faults.clone());
        self.inner.ask(request).map(move |outcome| faults.keep(hook, outcome)).boxed()
    }
}

impl CommandCarrier for Watched<dyn CommandCarrier> {
    fn notify(&self, request: CommandRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let (hook, faults) = (hook_of(&request.payload), self.faults.clone());
        self.inner.notify(request).map(move |outcome| faults.keep(hook, outcome)).boxed()
    }

    fn ask(&self, request: CommandRequest) -> BoxFuture<'static, Result<CommandReply, HookFault>> {
        let (hook, faults) = (hook_of(&request.payload), self.faults.clone());
        self.inner.ask(request).map(move |outcome| faults.keep(hook, outcome)).boxed()
    }
}

/// A webhook whose `body` puts another id here gets the words of the class alone.
fn hook_of(payload: &Map<String, Value>) -> String {
    payload.get("hookId").and_then(Value::as_str).unwrap_or_default().to_owned()
}
