//! Places in a TOML text: lines, columns, keys.

#[cfg(feature = "drive")]
use toml::de::{DeTable, DeValue};

/// The line and the column, both from 1, of a byte.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The key that the byte belongs to, with its section, as `limits.max_steps`.
///
/// Found by looking back from the byte for a line that assigns, and from there for a header; good
/// enough for messages.
pub(super) fn key_at(text: &str, offset: usize) -> String {
    let offset = text.floor_char_boundary(offset);
    let line_end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
    let mut key = "";
    for line in text[..line_end].lines().rev() {
        if let Some(section) = header(line) {
            return if key.is_empty() { section.to_owned() } else { format!("{section}.{key}") };
        }
        if key.is_empty() {
            key = assigned_key(line).unwrap_or_default();
        }
    }
    key.to_owned()
}

/// The byte at which a top-level key is assigned.
pub(super) fn offset_of_key(text: &str, key: &str) -> usize {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if header(line).is_some() {
            break;
        }
        if assigned_key(line) == Some(key) {
            return offset + line.find(key).unwrap_or_default();
        }
        offset += line.len();
    }
    0
}

/// The byte at which a value stands that is reached by keys and by numbers of lists, as `hook`, `0`, `webhook`, `url`.
/// Where the way breaks off, the last value that was reached.
#[cfg(feature = "drive")]
pub(super) fn offset_of_path<'a>(text: &str, path: impl IntoIterator<Item = &'a str>) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 0 };
    let mut offset = 0;
    let mut value = Some(DeValue::Table(root.into_inner()));
    for step in path {
        let below = if let Some(DeValue::Table(table)) = value {
            table.into_iter().find(|(key, _)| key.get_ref() == step).map(|(_, value)| value)
        } else if let Some(DeValue::Array(list)) = value {
            step.parse().ok().and_then(|at| list.into_iter().nth(at))
        } else {
            None
        };
        let Some(below) = below else { return offset };
        offset = below.span().start;
        value = Some(below.into_inner());
    }
    offset
}

fn header(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix('[')?;
    let name = inner.trim_start_matches('[').split(']').next()?.trim();
    let is_name = |c: char| c.is_alphanumeric() || "_-. \"'".contains(c);
    (!name.is_empty() && name.chars().all(is_name) && !name.starts_with(['"', '\''])).then_some(name)
}

fn assigned_key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let is_key = |c: char| c.is_alphanumeric() || "_-.\"'".contains(c);
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("a\néé=1", 6), (2, 3));
        assert_eq!(line_and_column("", 0), (1, 1));
        assert_eq!(line_and_column("a", 99), (1, 2));
    }

    #[cfg(feature = "drive")]
    #[test]
    fn values_are_found_by_their_path() {
        let text = "a = 1\n[[hook]]\nid = 'x'\n[[hook]]\nid = 'y'\nwebhook = { url = '/', env = ['A', 'B'] }\n";
        let at = |path: &[&str]| &text[offset_of_path(text, path.iter().copied())..];
        assert!(at(&["hook", "1", "webhook", "url"]).starts_with("'/'"));
        assert!(at(&["hook", "1", "webhook", "env", "1"]).starts_with("'B'"));
        assert!(at(&["hook", "1", "webhook", "nosuch", "1"]).starts_with("{ url"));
        assert!(at(&["hook", "0", "webhook"]).starts_with("[[hook]]\nid = 'x'"));
    }

    #[test]
    fn keys_are_found_with_their_section() {
        let text = "name = 1\n[limits]\nmax = 2\nlist = [\n  3,\n]\n[[tool]]\n";
        assert_eq!(key_at(text, 7), "name");
        assert_eq!(key_at(text, text.find('2').unwrap()), "limits.max");
        assert_eq!(key_at(text, text.find('3').unwrap()), "limits.list");
        assert_eq!(key_at(text, text.find("[[tool").unwrap()), "tool");
        assert_eq!(offset_of_key(text, "max"), 0, "only top-level keys");
    }
}
