//! Where a webhook goes.

use url::Url;

use crate::{DeliveryKind, Environment};

/// Why a webhook has no destination. It never shows the URL, whose query may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    /// Neither an HTTP(S) URL nor a path.
    #[error("the webhook URL is invalid: give an http or https URL, or a path that begins with one slash")]
    Invalid,
    /// A path, and nothing to resolve it against.
    #[error("a relative webhook URL requires INTERNAL_APP_URL or APP_URL: set one of them")]
    NoBase,
    /// The base is no HTTP(S) URL.
    #[error("{0} is no HTTP(S) URL without credentials: correct it")]
    Base(&'static str),
}

/// Resolves the destination of a webhook at the moment of sending.
///
/// Absolute URLs stay as they are. A path is resolved against `INTERNAL_APP_URL`, else `APP_URL`; for
/// QStash, which must be able to reach the destination, in the other order. A blank variable counts as
/// not set.
///
/// # Errors
///
/// - [`UrlFault::Invalid`]: correct the URL.
/// - [`UrlFault::NoBase`]: set one of the two variables, or use an absolute URL.
/// - [`UrlFault::Base`]: correct the variable that is named.
pub fn resolve_url(text: &str, delivery: DeliveryKind, environment: &dyn Environment) -> Result<Url, UrlFault> {
    match destination(text).ok_or(UrlFault::Invalid)? {
        Destination::Absolute(url) => Ok(url),
        Destination::Path(path) => {
            let (name, base) = bases(delivery)
                .into_iter()
                .find_map(|name| Some((name, environment.get(name).filter(|base| !base.trim().is_empty())?)))
                .ok_or(UrlFault::NoBase)?;
            let base = absolute(&base).ok_or(UrlFault::Base(name))?;
            let url = base.join(path).map_err(|_| UrlFault::Invalid)?;
            // A path stays on its host.
            if url.origin() == base.origin() { Ok(url) } else { Err(UrlFault::Invalid) }
        }
    }
}

/// Whether a text can be the destination of a webhook.
pub(crate) fn is_destination(text: &str) -> bool {
    destination(text).is_some()
}

enum Destination<'a> {
    Absolute(Url),
    Path(&'a str),
}

fn destination(text: &str) -> Option<Destination<'_>> {
    // Parsers of URLs drop tabs and line ends, so `/<tab>/host` would become `//host`.
    if text.contains('\\') || text.chars().any(|char| char.is_ascii_control()) || text.starts_with("//") {
        return None;
    }
    if text.starts_with('/') {
        return Some(Destination::Path(text));
    }
    absolute(text).map(Destination::Absolute)
}

fn absolute(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_http && url.has_host() && url.username().is_empty() && url.password().is_none()).then_some(url)
}

fn bases(delivery: DeliveryKind) -> [&'static str; 2] {
    match delivery {
        DeliveryKind::Fetch | DeliveryKind::Outbox => ["INTERNAL_APP_URL", "APP_URL"],
        DeliveryKind::Qstash => ["APP_URL", "INTERNAL_APP_URL"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variables;

    #[test]
    fn a14_only_http_urls_and_paths_without_credentials_are_destinations() {
        for good in ["/hook", "/", "/a?b=c", "http://internal:8080/x", "https://example.test", "HTTP://EXAMPLE.test/"] {
            assert!(is_destination(good), "{good}");
        }
        for bad in [
            "",
            "//host/path",
            "/\t/host",
            "\\hook",
            "/a\\b",
            "http:\\\\host",
            "file:///etc/passwd",
            "ftp://host/",
            "http://user@host/",
            "http://user:pw@host/",
            "http://:pw@host/",
            "http://",
            "hook",
            "http://ho st/",
            "javascript:alert(1)",
            "http://host/\r\nX: y",
        ] {
            assert!(!is_destination(bad), "{bad}");
        }
    }

    #[test]
    fn e23_each_delivery_prefers_its_own_base() {
        let both = Variables::from([("INTERNAL_APP_URL", "http://in.test/base/"), ("APP_URL", "https://app.test")]);
        let resolved = |delivery| resolve_url("/hook?x=1", delivery, &both).unwrap().to_string();
        assert_eq!(resolved(DeliveryKind::Fetch), "http://in.test/hook?x=1");
        assert_eq!(resolved(DeliveryKind::Outbox), "http://in.test/hook?x=1");
        assert_eq!(resolved(DeliveryKind::Qstash), "https://app.test/hook?x=1");
    }

    #[test]
    fn e15_a_path_takes_the_base_that_there_is() {
        for name in ["INTERNAL_APP_URL", "APP_URL"] {
            let one = Variables::default().with(name, "http://in.test:81/base");
            for delivery in [DeliveryKind::Fetch, DeliveryKind::Qstash] {
                assert_eq!(resolve_url("/hook", delivery, &one).unwrap().as_str(), "http://in.test:81/hook");
            }
        }
        let fault = |variables: Variables| resolve_url("/hook", DeliveryKind::Fetch, &variables).unwrap_err();
        assert_eq!(fault(Variables::from([("APP_URL", " ")])), UrlFault::NoBase);
        assert_eq!(fault(Variables::from([("APP_URL", "ftp://x")])), UrlFault::Base("APP_URL"));
    }
}
