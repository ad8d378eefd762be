//! What a command hook is told to do.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use crate::environment::is_variable_name;
use crate::register::fields::Fields;
use crate::register::rule::{FieldFault, Rule};
use crate::webhook::{TIMEOUT_DEFAULT, seconds};
use crate::{HookKind, OnError, ResponseHandling};

/// The configuration of a command hook, as it is registered and stored.
///
/// The program gets the event as one JSON object on its standard input. Its environment is empty but
/// for the variables that are listed; nothing of it is stored. With `responseHandling: toolCall` what
/// it prints decides, as the reply of a webhook does; a `beforeToolCall` control may also print
/// `{"mock":{"content":…,"success":…}}`. An exit code other than 0 is a failure. Its standard error is
/// not read.
///
/// Read from JSON or TOML it is strict: an unknown key is an error.
///
/// ```
/// use jackline_hooks::CommandConfig;
/// let policy: CommandConfig =
///     serde_json::from_str(r#"{"command": ["./policy.py"], "env": ["PATH"], "responseHandling": "toolCall"}"#).unwrap();
/// assert!(policy.is_control());
/// assert!(serde_json::from_str::<CommandConfig>(r#"{"command": "./policy.py"}"#).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandConfig {
    /// The program and its arguments. There is no shell.
    pub command: Vec<String>,
    /// The names of the variables that the program gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// The deadline in seconds; fractions are allowed. Default: 30. It ends the whole process group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Number>,
    /// Whether what it prints decides about a tool call.
    #[serde(skip_serializing_if = "is_ignored")]
    pub response_handling: ResponseHandling,
    /// What a failure means for the call, if it decides.
    #[serde(skip_serializing_if = "continues")]
    pub on_error: OnError,
    /// Whether the hook also applies to the operation's children. Default: if it decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit: Option<bool>,
    /// The directory that it runs in, and that a relative path to the program starts from. Default: the carrier's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

impl CommandConfig {
    /// An observer: the program and its arguments.
    pub fn new<T: Into<String>>(command: impl IntoIterator<Item = T>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A control: the program and its arguments.
    pub fn control<T: Into<String>>(command: impl IntoIterator<Item = T>) -> Self {
        Self { response_handling: ResponseHandling::ToolCall, ..Self::new(command) }
    }

    /// Reads the strict JSON object. The rules that depend on the event are checked at registration.
    ///
    /// # Errors
    ///
    /// [`FieldFault`] names the first field that is wrong, the rule and the remedy; never a value.
    pub fn from_json(value: &Value) -> Result<Self, FieldFault> {
        let mut fields = Fields::of(value)?;
        let command = fields.texts("command")?.ok_or_else(|| FieldFault::new("command", Rule::Program))?;
        let config = Self {
            command,
            env: fields.texts("env")?.unwrap_or_default(),
            timeout: fields.number("timeout")?,
            response_handling: fields.one_of("responseHandling", "ignore, toolCall", ResponseHandling::parse)?,
            on_error: fields.one_of("onError", "continue, block", OnError::parse)?,
            inherit: fields.flag("inherit")?,
            directory: fields.text("directory", Rule::Expected("a path"))?.map(PathBuf::from),
        };
        fields.end()?;
        Ok(config)
    }

    /// Checks every rule for a hook of this type.
    ///
    /// # Errors
    ///
    /// [`FieldFault`] names the first field that is wrong, the rule and the remedy.
    pub fn check(&self, kind: HookKind) -> Result<(), FieldFault> {
        let must = |holds: bool, field: &str, rule| if holds { Ok(()) } else { Err(FieldFault::new(field, rule)) };
        must(self.command.first().is_some_and(|program| !program.is_empty()), "command", Rule::Program)?;
        // The system ends a text at a NUL, so the rest would be lost.
        must(self.command.iter().all(|part| !part.contains('\0')), "command", Rule::Program)?;
        for (index, name) in self.env.iter().enumerate() {
            must(is_variable_name(name), &format!("env[{index}]"), Rule::Variable)?;
        }
        must(self.timeout.as_ref().is_none_or(|timeout| seconds(timeout).is_some()), "timeout", Rule::Timeout)?;
        match self.response_handling {
            ResponseHandling::Ignore => must(self.on_error == OnError::Continue, "onError", Rule::Block),
            ResponseHandling::ToolCall => must(kind.is_controllable(), "responseHandling", Rule::ControlEvent),
        }
    }

    /// The deadline, rounded up to milliseconds.
    pub fn deadline(&self) -> Duration {
        self.timeout.as_ref().and_then(seconds).unwrap_or(TIMEOUT_DEFAULT)
    }

    /// Whether what it prints decides.
    pub fn is_control(&self) -> bool {
        self.response_handling == ResponseHandling::ToolCall
    }

    /// Whether the hook also applies to the operation's children.
    pub fn is_inherited(&self) -> bool {
        self.inherit.unwrap_or(self.is_control())
    }
}

impl<'de> Deserialize<'de> for CommandConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn is_ignored(handling: &ResponseHandling) -> bool {
    *handling == ResponseHandling::Ignore
}

fn continues(on_error: &OnError) -> bool {
    *on_error == OnError::Continue
}
