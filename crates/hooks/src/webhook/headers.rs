//! Headers: templates filled in, and rules checked, when a request is sent.

use std::fmt;

use super::WebhookConfig;
use crate::Environment;

/// The headers of one request, secrets filled in. `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ResolvedHeaders(Vec<(String, Vec<u8>)>);

impl ResolvedHeaders {
    /// Names as they were written, and values as bytes of Latin-1.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Whether there is a header of this name, in any case.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    }
}

impl fmt::Debug for ResolvedHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Why the headers of a webhook cannot be sent. It names a header, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// The name is no token of HTTP.
    #[error("a header name is invalid: use letters, digits and `-`")]
    Name,
    /// The name belongs to the connection or to a relay.
    #[error("header `{0}` must not be set: remove it")]
    Forbidden(String),
    /// A variable that the hook does not list.
    #[error("header `{header}` uses `{variable}`, which allowedEnvVars does not list: add it there")]
    NotAllowed {
        /// The header.
        header: String,
        /// The variable.
        variable: String,
    },
    /// A variable that is not set.
    #[error("header `{header}` uses `{variable}`, which is not set: set the variable")]
    NotSet {
        /// The header.
        header: String,
        /// The variable.
        variable: String,
    },
    /// The value cannot be sent, or still holds a template.
    #[error("header `{0}` has an invalid value: give one line, with variables written `${{NAME}}`")]
    Value(String),
}

impl WebhookConfig {
    /// Fills in and checks the headers, as a request is sent.
    ///
    /// # Errors
    ///
    /// [`HeaderFault`] names the header or the variable: correct the hook or set the variable.
    pub fn resolve_headers(&self, environment: &dyn Environment) -> Result<ResolvedHeaders, HeaderFault> {
        let allowed = self.allowed_env_vars.as_deref().unwrap_or_default();
        let mut resolved = Vec::new();
        for (name, template) in self.headers.iter().flatten() {
            check_name(name)?;
            let value = expand(name, template, allowed, environment)?;
            resolved.push((name.clone(), to_bytes(name, &value)?));
        }
        Ok(ResolvedHeaders(resolved))
    }
}

fn check_name(name: &str) -> Result<(), HeaderFault> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(HeaderFault::Name);
    }
    let lower = name.to_ascii_lowercase();
    let is_forbidden =
        FORBIDDEN.contains(&lower.as_str()) || FORBIDDEN_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
    if is_forbidden { Err(HeaderFault::Forbidden(name.to_owned())) } else { Ok(()) }
}

/// Replaces each `${NAME}`, once.
fn expand(
    header: &str,
    template: &str,
    allowed: &[String],
    environment: &dyn Environment,
) -> Result<String, HeaderFault> {
    let mut value = String::new();
    let mut rest = template;
    while let Some(start) = rest.find("${") {
        let (before, inside) = (&rest[..start], &rest[start + 2..]);
        let end = inside.find('}').ok_or_else(|| HeaderFault::Value(header.to_owned()))?;
        let variable = &inside[..end];
        value.push_str(before);
        value.push_str(&lookup(header, variable, allowed, environment)?);
        rest = &inside[end + 1..];
    }
    value.push_str(rest);
    // A value must not bring in a template of its own, alone or together with what stands around it.
    if value.contains("${") { Err(HeaderFault::Value(header.to_owned())) } else { Ok(value) }
}

fn lookup(
    header: &str,
    variable: &str,
    allowed: &[String],
    environment: &dyn Environment,
) -> Result<String, HeaderFault> {
    // What stands between the braces may be anything, a secret included: only names are repeated.
    if !crate::environment::is_variable_name(variable) {
        return Err(HeaderFault::Value(header.to_owned()));
    }
    let (header, name) = (header.to_owned(), variable.to_owned());
    if !allowed.iter().any(|other| other == variable) {
        return Err(HeaderFault::NotAllowed { header, variable: name });
    }
    environment.get(variable).ok_or(HeaderFault::NotSet { header, variable: name })
}

fn to_bytes(header: &str, value: &str) -> Result<Vec<u8>, HeaderFault> {
    let byte =
        |char: char| u8::try_from(u32::from(char)).ok().filter(|byte| *byte == b'\t' || !byte.is_ascii_control());
    value.chars().map(byte).collect::<Option<Vec<u8>>>().ok_or_else(|| HeaderFault::Value(header.to_owned()))
}

/// Headers of the connection: set by whoever speaks HTTP.
const FORBIDDEN: [&str; 6] = ["host", "content-length", "connection", "transfer-encoding", "trailer", "upgrade"];

/// Headers of proxies, of browsers, and those by which QStash is told what to do.
const FORBIDDEN_PREFIXES: [&str; 3] = ["proxy-", "sec-", "upstash-"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variables;

    fn resolve(name: &str, template: &str, allowed: &[&str]) -> Result<String, HeaderFault> {
        let config = WebhookConfig {
            headers: Some([(name.to_owned(), template.to_owned())].into()),
            allowed_env_vars: Some(allowed.iter().map(|&name| name.to_owned()).collect()),
            ..WebhookConfig::new("/hook")
        };
        let environment = Variables::from([
            ("TOKEN", "s3cret"),
            ("EMPTY", ""),
            ("NESTED", "${TOKEN}"),
            ("DOLLAR", "$"),
            ("LINES", "a\r\nX-Evil: 1"),
            ("NUL", "a\0b"),
        ]);
        let headers = config.resolve_headers(&environment)?;
        let (_, value) = headers.iter().next().unwrap();
        Ok(String::from_utf8(value.to_vec()).unwrap())
    }

    #[test]
    fn e12_templates_are_filled_in_from_allowed_variables() {
        assert_eq!(resolve("Authorization", "Bearer ${TOKEN}", &["TOKEN"]).unwrap(), "Bearer s3cret");
        assert_eq!(resolve("X", "${TOKEN}-${TOKEN}!", &["TOKEN"]).unwrap(), "s3cret-s3cret!");
        assert_eq!(resolve("X", "[${EMPTY}]", &["EMPTY"]).unwrap(), "[]");
        assert_eq!(resolve("X", "costs $5 {a}", &[]).unwrap(), "costs $5 {a}");
    }

    #[test]
    fn e13_a_variable_must_be_listed_and_set() {
        let named = |error: HeaderFault| error.to_string();
        assert!(named(resolve("X", "${TOKEN}", &[]).unwrap_err()).contains("allowedEnvVars does not list"));
        assert!(
            named(resolve("X", "${ABSENT}", &["ABSENT"]).unwrap_err())
                .contains("`ABSENT`, which is not set: set the variable")
        );
    }

    #[test]
    fn e14_what_cannot_or_must_not_be_sent_is_refused_without_its_value() {
        let refused = [
            "Host",
            "content-length",
            "Connection",
            "Transfer-Encoding",
            "Trailer",
            "UPGRADE",
            "Proxy-Authorization",
            "Sec-Fetch-Mode",
            "Upstash-Callback",
            "",
            "a b",
            "a:b",
            "ä",
            "a\r\nb",
        ];
        for name in refused {
            let error = resolve(name, "s3cret", &[]).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{name}");
        }
        let allowed = ["TOKEN", "NESTED", "DOLLAR", "LINES", "NUL"];
        for template in [
            "${broken",
            "${NOPE}",
            "${}",
            "${a-s3cret}",
            "a\r\nb",
            "a\nb",
            "${LINES}",
            "${NUL}",
            "${NESTED}",
            "${DOLLAR}{x",
            "→",
        ] {
            let error = resolve("X", template, &allowed).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{template}: {error}");
        }
    }

    #[test]
    fn a_resolved_value_is_not_shown() {
        let config = WebhookConfig {
            headers: Some([("X".to_owned(), "s3cret".to_owned())].into()),
            ..WebhookConfig::new("http://host/?key=s3cret")
        };
        let headers = config.resolve_headers(&Variables::default()).unwrap();
        assert!(!format!("{headers:?}{config:?}").contains("s3cret"));
    }
}
