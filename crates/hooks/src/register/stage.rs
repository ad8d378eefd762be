//! Which options the last hook of a builder has. Checked at compile time.

/// No hook was added yet, or the list is complete.
#[derive(Clone, Copy, Debug)]
pub enum Start {}

/// The last hook observes an event that is not about a tool.
#[derive(Clone, Copy, Debug)]
pub enum Observing {}

/// The last hook observes or mocks a tool call.
#[derive(Clone, Copy, Debug)]
pub enum OnTool {}

/// The last hook is a control.
#[derive(Clone, Copy, Debug)]
pub enum Controlling {}

/// The last hook is a webhook or a command. Whether it may have a matcher depends on its event.
#[derive(Clone, Copy, Debug)]
pub enum Remote {}

/// There is a last hook: it has a deadline and can be inherited.
pub trait HasHook: sealed::Sealed {}

/// The last hook is about tools: it can have a matcher.
pub trait HasTool: HasHook {}

/// The last hook is a handler that cannot deny: it can have a webhook, too.
pub trait HasHandler: HasHook {}

impl HasHandler for Observing {}
impl HasHandler for OnTool {}
impl HasHook for Remote {}
impl HasTool for Remote {}
impl HasHook for Observing {}
impl HasHook for OnTool {}
impl HasHook for Controlling {}
impl HasTool for OnTool {}
impl HasTool for Controlling {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Remote {}
    impl Sealed for super::Observing {}
    impl Sealed for super::OnTool {}
    impl Sealed for super::Controlling {}
}
