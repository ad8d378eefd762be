//! What is printed when something panics.

use std::panic::{Location, PanicHookInfo};

/// Makes panics print where they happened and nothing else, for the whole process.
///
/// The text of a panic may quote what the code had in hand, and in a tool or an after-control that
/// is output that nobody has judged yet. The runtime drops such texts wherever it catches a panic,
/// but the standard library prints them before anybody can catch them. A program that embeds the
/// runtime and keeps what it prints calls this first, as the command line does.
///
/// ```
/// jackline_runtime::drive::install_quiet_panic_hook();
/// let panicked = std::panic::catch_unwind(|| panic!("the secret"));
/// assert!(panicked.is_err());
/// ```
pub fn install_quiet_panic_hook() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| eprintln!("{}", line(panic.location()))));
}

fn line(location: Option<&Location<'_>>) -> String {
    let place = location.map_or_else(|| "an unknown place".to_owned(), Location::to_string);
    format!("panicked at {place}; the text is not shown, because it may quote unjudged output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_panic_says_where_and_nothing_of_what() {
        let line = line(Some(Location::caller()));
        assert!(line.contains("panic_hook.rs:"), "{line}");
    }
}
