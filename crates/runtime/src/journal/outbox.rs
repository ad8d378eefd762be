//! Webhook deliveries that a store keeps until they succeed.

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
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next, in milliseconds since the epoch.
    pub due_at: u64,
    /// Why the last try failed.
    pub error: Option<String>,
    /// It was tried as often as it may be: only a person lets it be tried again.
    pub dead: bool,
}

/// Deliveries that whoever asked now has in hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimedDeliveries {
    /// The deliveries.
    pub deliveries: Vec<StoredDelivery>,
    /// When the next one after them is due.
    pub next_at: Option<u64>,
}

/// What becomes of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryChange {
    /// It arrived: it is forgotten.
    Delivered,
    /// A try failed.
    Failed {
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
    /// Somebody gives it up: it is forgotten.
    Drop,
}
