//! Who knows the e-mail addresses of users.

use std::fmt::Debug;

use futures_util::future::{BoxFuture, FutureExt, ready};

use crate::HookError;

/// Who knows the e-mail addresses of users.
///
/// Answers are kept for five minutes, missing ones and failures too, and one query serves everybody who waits for
/// it. There is no deadline here: bring your own.
pub trait UserDirectory: Debug + Send + Sync {
    /// The address of a user. Nothing if there is no such user or no address.
    ///
    /// # Errors
    ///
    /// [`HookError`] if it could not be looked up. The address is left out, and the delivery goes on.
    fn email(&self, user: &str) -> BoxFuture<'static, Result<Option<String>, HookError>>;
}

/// A directory that knows nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDirectory;

impl UserDirectory for NoDirectory {
    fn email(&self, _user: &str) -> BoxFuture<'static, Result<Option<String>, HookError>> {
        ready(Ok(None)).boxed()
    }
}
