//! File work on a thread of its own, which ends when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Refusal;
use crate::{ToolAnswer, ToolError};

/// Tells blocking work that nobody waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the work here if nobody waits for it. Ask before each effect and in each loop.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.0.load(Ordering::Acquire) { Err(Refusal("The call was given up.".to_owned())) } else { Ok(()) }
    }
}

/// Runs blocking work beside the async tasks. Dropping the future cancels it.
pub(super) async fn blocking(
    work: impl FnOnce(&Cancel) -> Result<String, Refusal> + Send + 'static,
) -> Result<ToolAnswer, ToolError> {
    let cancel = Cancel::default();
    let _guard = CancelOnDrop(cancel.clone());
    match tokio::task::spawn_blocking(move || work(&cancel)).await {
        Ok(outcome) => super::answer(outcome),
        // The panic's own text may hold what the tool read.
        Err(_) => Err(ToolError::new("The tool broke down.")),
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::blocking;

    #[tokio::test]
    async fn dropping_the_future_cancels_the_work() {
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = mpsc::channel();
        let mut work = Box::pin(blocking(move |cancel| {
            let _ = started.send(());
            while cancel.check().is_ok() {
                std::thread::yield_now();
            }
            let _ = ended.send(());
            Ok(String::new())
        }));
        tokio::select! {
            _ = &mut work => panic!("the work waits for its cancellation"),
            started = has_started => started.unwrap(),
        }
        drop(work);
        has_ended.recv().unwrap();
    }
}
