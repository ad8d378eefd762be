//! Colour, where somebody can see it.

use clap::ValueEnum;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Decides for standard output.
    pub(crate) fn for_output(choice: ColorChoice, is_terminal: bool) -> Self {
        let is_on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !has_value("NO_COLOR") && !is_dumb(),
        };
        Self { is_on }
    }

    /// Stands out.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Stands back.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Went well.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// Needs somebody.
    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Names something.
    pub(crate) fn name(self, text: &str) -> String {
        self.wrap("36", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn has_value(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
