//! JSON that must be a part of other JSON.

use serde_json::Value;

/// The first place where `part` is not a part of `whole`: objects may have more keys, lists and
/// all else must be equal. Text that begins with a tilde must be contained. `null` also fits an absent key.
pub(crate) fn mismatch(part: &Value, whole: &Value) -> Option<String> {
    at(part, whole, "")
}

fn at(part: &Value, whole: &Value, path: &str) -> Option<String> {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().find_map(|(key, wanted)| {
            let path = format!("{path}.{key}");
            match whole.get(key) {
                Some(real) => at(wanted, real, &path),
                None if wanted.is_null() => None,
                None => Some(format!("{path} must be {wanted} and is absent")),
            }
        }),
        (Value::Array(part), Value::Array(whole)) if part.len() == whole.len() => part
            .iter()
            .zip(whole)
            .enumerate()
            .find_map(|(index, (wanted, real))| at(wanted, real, &format!("{path}[{index}]"))),
        (Value::String(text), Value::String(real)) if is_part_of(text, real) => None,
        (Value::Number(wanted), Value::Number(real)) if wanted.as_f64() == real.as_f64() => None,
        (
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
            real,
        ) => (part != real).then(|| format!("{path} must be {part} and is {real}")),
    }
}

/// `~text` asks for text that contains it.
fn is_part_of(wanted: &str, real: &str) -> bool {
    match wanted.strip_prefix('~') {
        Some(part) => real.contains(part),
        None => wanted == real,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_may_have_fewer_keys_and_nothing_else() {
        let whole = json!({"a": {"b": 1, "c": [1, 2]}, "d": "a long text"});
        assert_eq!(mismatch(&json!({"a": {"b": 1}}), &whole), None);
        assert_eq!(mismatch(&json!({"d": "~long", "e": null}), &whole), None);
        assert_eq!(mismatch(&json!({"a": {"c": [1]}}), &whole).unwrap(), ".a.c must be [1] and is [1,2]");
        assert_eq!(mismatch(&json!({"x": 1}), &whole).unwrap(), ".x must be 1 and is absent");
    }
}
