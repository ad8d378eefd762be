//! `Retry-After`, in the forms that servers use.

use std::time::{Duration, SystemTime};

use super::limits::RETRY_AFTER_MAX;

/// Reads the header: seconds, fractions of them, or a date. A date in the past is "at once";
/// nonsense is nothing; more than the bound is the bound.
pub(crate) fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or(Duration::ZERO),
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c136_retry_after_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let date = |from_now: i64| {
            let at = now.checked_add(Duration::from_secs(from_now.max(0) as u64)).unwrap()
                - Duration::from_secs((-from_now).max(0) as u64);
            httpdate::fmt_http_date(at)
        };
        let seconds = |seconds| Some(Duration::from_millis(seconds));
        for (text, expected) in [
            (date(3), seconds(3000)),
            (date(-3), seconds(0)),
            (date(86_400), Some(RETRY_AFTER_MAX)),
            ("1.5".to_owned(), seconds(1500)),
            (" 2 ".to_owned(), seconds(2000)),
            ("0".to_owned(), seconds(0)),
            ("99999999".to_owned(), Some(RETRY_AFTER_MAX)),
            ("abc".to_owned(), None),
            ("-1".to_owned(), None),
            ("NaN".to_owned(), None),
            ("inf".to_owned(), None),
            ("1e999".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(parse_retry_after(&text, now), expected, "{text}");
        }
    }
}
