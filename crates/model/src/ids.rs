//! Ids. Each kind is its own type, so that an id of one kind cannot be handed in for another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id_types {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text of an id. Any text is accepted: ids come from outside too.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )+};
}

id_types! {
    /// One run of one agent: the unit that is journaled, parked and resumed.
    OperationId;
    /// An agent, as its agent file names it.
    AgentId;
    /// A message row.
    MessageId;
    /// A tool call, by the id that the model's provider gave it (or that we made where it gave none).
    ToolCallId;
    /// A conversation that is isolated from its parent's, as a sub-agent's is.
    ThreadId;
    /// The account that a run executes as.
    UserId;
    /// A hook, as registered. Not unique: equal ids all run.
    HookId;
    /// A request for a human decision.
    ApprovalId;
    /// A request to stop a run, as whoever asks names it.
    StopRequestId;
    /// A stored body, by the hash of its bytes.
    BlobId;
    /// A frozen agent configuration, by the hash of its text.
    ConfigHash;
}
