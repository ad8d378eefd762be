//! Webhook deliveries that a store keeps until they succeed.

/// Deliveries that may wait in one store: some hours of a busy machine whose receiver is down.
pub const OUTBOX_WAITING_MAX: usize = 10_000;

/// Dead deliveries that one store keeps; older ones are forgotten.
pub const OUTBOX_DEAD_MAX: usize = 1_000;

/// Why a try failed that nobody has settled.
pub const OUTBOX_TRY_LEFT_OPEN: &str = "whoever tried it last ended before there was an answer";

/// A delivery, as it is written with the transition that caused it. Headers are
/// templates, so it holds no value of a variable; what a hook spells out in a header or a URL it holds as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Its id, the same however often the firing is repeated: a second one with it is ignored.
    pub id: String,
    /// The hook.
    pub hook: String,
    /// The event, such as `onComplete`.
    pub kind: String,
    /// The webhook, in its stored form.
    pub webhook: String,
    /// What is sent, as JSON.
    pub payload: String,
}

/// A delivery that has not succeeded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDelivery {
    /// The delivery.
    pub delivery: NewDelivery,
    /// The operation that it is about.
    pub operation: jackline_model::OperationId,
    /// How many tries have begun, one that is under way included.
    pub attempts: u32,
    /// When it is tried next, in milliseconds since the epoch.
    pub due_at: u64,
    /// Why the last try failed.
    pub error: Option<String>,
    /// It was tried as often as it may be: only a person lets it be tried again.
    pub dead: bool,
    /// Who has it in hand, in words for people.
    pub holder: Option<String>,
}

/// Asks for deliveries to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryClaim {
    /// Now, in milliseconds since the epoch.
    pub now: u64,
    /// When others may take what has not been settled by then.
    pub until: u64,
    /// How many.
    pub limit: usize,
    /// Tries that a delivery may have. One that has had them, and whose last try came to no end, is dead.
    pub attempts_max: u32,
}

/// Deliveries that whoever asked now has in hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimedDeliveries {
    /// The deliveries.
    pub deliveries: Vec<StoredDelivery>,
    /// When the next one after them is due; a time that has come, if there is more to take at once.
    pub next_at: Option<u64>,
}

/// What becomes of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryChange {
    /// It arrived: it is forgotten.
    Delivered,
    /// A try failed.
    Failed {
        /// Which one: the number of tries that had begun with it. Another try may have begun since, elsewhere: then
        /// nothing is changed.
        attempt: u32,
        /// Why.
        error: String,
        /// When it is tried again; without it, it is dead.
        retry_at: Option<u64>,
    },
    /// Somebody lets it be tried again, with all its tries.
    Retry {
        /// Now.
        at: u64,
    },
    /// Somebody gives it up: it is forgotten, also by whoever has it in hand.
    Drop,
}

/// What a change of a delivery came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryChanged {
    /// It is as was wished.
    Done,
    /// There is no such delivery, or this try of it is over.
    NotThere,
    /// It is being tried right now, and need not be tried again.
    InHand {
        /// By whom, in words for people.
        holder: String,
    },
}
