//! Short forms of long things.

/// Text without control characters, but with its lines.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

/// Text on one line, cut to so many characters.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|letter| !letter.is_control()));
        if line.len() > chars_max * 4 {
            break;
        }
    }
    clipped(&line, chars_max)
}

/// The first characters of a text, and a mark where it was cut.
pub(crate) fn clipped(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A time as people say it.
pub(crate) fn seconds(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000.. => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// So many of something.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// A number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut parted = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            parted.push(' ');
        }
        parted.push(digit);
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_things_are_short_and_harmless() {
        assert_eq!(one_line("a\n  b\u{1b}[31m c", 80), "a b[31m c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(plain("a\u{1b}[0m\nb\r"), "a[0m\nb");
        assert_eq!((thousands(1_234_567).as_str(), thousands(12).as_str()), ("1 234 567", "12"));
        assert_eq!(
            (seconds(12), seconds(1_500), seconds(61_000)),
            ("12 ms".into(), "1.5 s".into(), "1 min 1 s".into())
        );
    }
}
