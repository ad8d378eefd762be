//! Tasks that a virtual clock knows of.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

use super::clock::{Clock, Hold};

/// A task that is aborted when its handle is dropped.
pub(crate) struct Held<T> {
    task: JoinHandle<(Hold, T)>,
}

impl<T> Future for Held<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.task).poll(context).map(|joined| joined.map(|(_hold, output)| output))
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Spawns a task. A virtual clock stands still from here until its first poll, during each poll,
/// and from its end until the result is taken; if it does something real, all the time.
pub(crate) fn spawn_held<F>(clock: &Arc<dyn Clock>, is_real: bool, future: F) -> Held<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let first = clock.hold();
    let clock = Arc::clone(clock);
    let task = tokio::spawn(async move {
        if is_real {
            let output = future.await;
            return (first, output);
        }
        held(clock, Some(first), future).await
    });
    Held { task }
}

/// Holds the clock while the future is polled, and hands the last hold over with the output.
pub(crate) fn held<F: Future>(
    clock: Arc<dyn Clock>,
    first: Option<Hold>,
    future: F,
) -> impl Future<Output = (Hold, F::Output)> {
    let mut first = first;
    let mut future = Box::pin(future);
    std::future::poll_fn(move |context| {
        let hold = first.take().unwrap_or_else(|| clock.hold());
        future.as_mut().poll(context).map(|output| (hold, output))
    })
}
