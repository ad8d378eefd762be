//! The second job: a run waits for a decision and is stopped, and the hook that must hear of it does not at first.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use jackline_hooks::{
    Carriers, ControlReply, Fallback, FaultCode, HookFault, HookKind, Hooks, WebhookCarrier, WebhookConfig,
    WebhookRequest,
};
use jackline_model::Status;
use jackline_runtime::drive::{RunError, Runtime, StopRequest, Stopping};
use jackline_runtime::llm::{BoxFuture, ReplyBuilder, ScriptedModel, Turn};
use jackline_runtime::tokens::ByteBound;
use jackline_store_sqlite::SqliteStore;

use crate::child::{Killer, Line, Log, lines};
use crate::job;

/// The receiver. It fails the first time that it is told of the stop, whichever process tells it.
#[derive(Debug)]
struct Receiver(std::path::PathBuf);

impl WebhookCarrier for Receiver {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let told = format!("told {} {}", request.config.url, request.delivery_id);
        let is_first = !lines(&self.0).iter().any(|line| matches!(line, Line::Told(url, _) if *url == STOP));
        let fails = request.config.url == STOP && is_first;
        Log::at(&self.0).add(&told);
        Box::pin(std::future::ready(if fails { Err(HookFault::new(FaultCode::HttpError)) } else { Ok(()) }))
    }

    fn ask(&self, _: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        Box::pin(std::future::ready(Ok(ControlReply::Allow)))
    }
}

/// Makes the request until everybody has heard.
pub(crate) async fn work(place: &Path, kill_at: Option<usize>) {
    let log = Log::at(place);
    let store = SqliteStore::open(place.join("jackline.db"), &jackline_store_sqlite::OpenOptions::default()).unwrap();
    let killer = Killer { log: log.clone(), performed: AtomicUsize::new(0), kill_at };
    let two = ReplyBuilder::default().call(Some("a"), "work____danger", "{}").call(Some("b"), "work____danger", "{}");
    let runtime = Runtime::builder()
        .store(Arc::new(store))
        .model(ScriptedModel::new([Turn::Reply(two.build())]))
        .tools(job::tools(&log))
        .carriers(Carriers { webhook: Some(Arc::new(Receiver(place.to_owned()))), ..Carriers::default() })
        .token_counter(|_| Arc::new(ByteBound))
        .probe(Arc::new(killer))
        .build()
        .unwrap();
    let request = StopRequest { id: Some("ticket-7".into()), calls: Some(vec!["a".into(), "b".into()]) };
    let id = match runtime.store().list(1).unwrap().pop() {
        None => runtime.start(&job::agent(), "Do the job.", hooks()).unwrap().id().clone(),
        Some(header) => header.id,
    };
    for _ in 0..REQUESTS_MAX {
        let run = if runtime.store().header(&id).unwrap().summary.status.is_terminal() {
            match runtime.stop_as(&id, &request).unwrap() {
                Stopping::Heard => return,
                Stopping::Retelling(run) => run,
                Stopping::Requested => panic!("the run has ended"),
            }
        } else {
            let run = runtime.resume(&id, Hooks::new()).unwrap();
            // It is stopped already if the process was killed after that.
            if run.wait().await.is_ok_and(|report| report.status == Status::WaitingForHuman) {
                runtime.stop_as(&id, &request).unwrap();
            }
            run
        };
        match run.wait().await {
            Ok(_) | Err(RunError::StopNotTold { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("somebody is never told");
}

fn hooks() -> Hooks {
    let must_hear = WebhookConfig { fallback: Fallback::None, ..WebhookConfig::new(STOP) };
    let hooks = Hooks::new().webhook("must-hear", HookKind::OnStopByHumanIntervention, must_hear);
    hooks.webhook("end", HookKind::OnComplete, WebhookConfig::new(END)).into()
}

pub(crate) const STOP: &str = "https://x.test/stop";
pub(crate) const END: &str = "https://x.test/end";

/// Each process makes it three times at most: it fails once, is heard, and finds that everybody has heard.
const REQUESTS_MAX: usize = 5;
