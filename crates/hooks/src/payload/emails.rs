//! E-mail addresses, looked up once and shared.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};

use super::UserDirectory;
use crate::HookClock;

/// Addresses of users, each with the query that found it or is about to.
///
/// A query belongs to nobody: whoever waits polls it, and a waiter that is dropped leaves it to the others.
pub(crate) struct Emails {
    directory: Arc<dyn UserDirectory>,
    clock: Arc<dyn HookClock>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_user: BTreeMap<String, Lookup>,
    /// Users in the order in which their queries began.
    order: VecDeque<String>,
}

struct Lookup {
    started: Duration,
    query: Query,
}

type Query = Shared<BoxFuture<'static, Option<String>>>;

impl Emails {
    pub(crate) fn new(directory: Arc<dyn UserDirectory>, clock: Arc<dyn HookClock>) -> Self {
        Self { directory, clock, known: Mutex::default() }
    }

    /// The address of a user. Nothing if it is not known or could not be looked up.
    pub(crate) async fn find(&self, user: &str) -> Option<String> {
        self.query(user).await
    }

    fn query(&self, user: &str) -> Query {
        let now = self.clock.now();
        // A panic cannot leave the list half changed in a way that matters: at worst a query is made again.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.by_user.get(user).filter(|lookup| now.saturating_sub(lookup.started) < FRESH_FOR);
        if let Some(lookup) = fresh {
            return lookup.query.clone();
        }
        let query = look_up(Arc::clone(&self.directory), user.to_owned());
        if known.by_user.remove(user).is_some() {
            known.order.retain(|other| other != user);
        }
        if known.order.len() >= USERS_MAX
            && let Some(oldest) = known.order.pop_front()
        {
            known.by_user.remove(&oldest);
        }
        known.order.push_back(user.to_owned());
        known.by_user.insert(user.to_owned(), Lookup { started: now, query: query.clone() });
        query
    }
}

/// A query that always ends in an answer: failures and panics are logged and count as no address.
fn look_up(directory: Arc<dyn UserDirectory>, user: String) -> Query {
    let asking = async move { directory.email(&user).await };
    let answered = AssertUnwindSafe(asking).catch_unwind().map(|answer| match answer {
        Ok(Ok(email)) => email,
        Ok(Err(_)) | Err(_) => {
            tracing::error!("[HookDispatcher] Failed to resolve webhook user email");
            None
        }
    });
    answered.boxed().shared()
}

impl fmt::Debug for Emails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emails").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// How many users are remembered: the working set of a busy process, in a few hundred kilobytes.
const USERS_MAX: usize = 1_000;

/// How long an answer counts: an address that was changed is seen within minutes.
const FRESH_FOR: Duration = Duration::from_secs(300);
