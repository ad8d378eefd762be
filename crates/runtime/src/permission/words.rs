//! A shell command taken apart: commands, and the words of each.
//!
//! This is no shell. Quotes are removed as a shell removes them, separators are found where one
//! would find them, and what only a running shell could know is marked as such.

/// One word, quotes removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text.
    pub(super) text: String,
    /// Part of it is known to a running shell only: a variable, a substitution, an escape.
    pub(super) is_dynamic: bool,
}

/// What a command line consists of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The simple commands, in order.
    pub(super) commands: Vec<Vec<Word>>,
    /// The texts of command substitutions, to be taken apart in turn.
    pub(super) substitutions: Vec<String>,
}

/// Takes a command line apart. Never fails: an open quote ends with the text.
pub(super) fn split(text: &str) -> CommandLine {
    let mut splitter = Splitter { chars: text.chars().collect(), ..Splitter::default() };
    while let Some(c) = splitter.next() {
        splitter.take_plain(c);
    }
    splitter.end_command();
    splitter.line
}

#[derive(Default)]
struct Splitter {
    chars: Vec<char>,
    at: usize,
    line: CommandLine,
    command: Vec<Word>,
    word: Option<Word>,
    /// The word that follows a redirection is a file, no argument.
    is_redirect_target: bool,
}

impl Splitter {
    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take_plain(&mut self, c: char) {
        match c {
            ';' | '&' | '|' | '\n' | '(' | ')' => self.end_command(),
            '#' if self.word.is_none() => self.skip_comment(),
            '<' | '>' => self.take_redirection(),
            ' ' | '\t' | '\r' => self.end_word(),
            '\'' => self.take_single_quoted(),
            '"' => self.take_double_quoted(),
            '`' => self.take_backquoted(),
            '$' => self.take_dollar(),
            '\\' => match self.next() {
                // A backslash before a line end joins the lines.
                Some('\n') | None => {}
                Some(escaped) => self.word().text.push(escaped),
            },
            other => self.word().text.push(other),
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.is_redirect_target) {
            return;
        }
        self.command.extend(expand_braces(word));
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_redirect_target = false;
        if !self.command.is_empty() {
            self.line.commands.push(std::mem::take(&mut self.command));
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn take_redirection(&mut self) {
        // `2>`: the number is part of the operator.
        if self.word.as_ref().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        while self.peek().is_some_and(|c| matches!(c, '<' | '>' | '&' | '|')) {
            self.at += 1;
        }
        self.is_redirect_target = true;
    }

    fn take_single_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next()
            && c != '\''
        {
            self.word().text.push(c);
        }
    }

    fn take_double_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '`' => self.take_backquoted(),
                '$' => self.take_dollar(),
                '\\' => match self.next() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.word().text.push(escaped),
                    Some('\n') | None => {}
                    Some(other) => self.word().text.extend(['\\', other]),
                },
                other => self.word().text.push(other),
            }
        }
    }

    fn take_backquoted(&mut self) {
        let mut inner = String::new();
        while let Some(c) = self.next()
            && c != '`'
        {
            inner.push(c);
        }
        self.line.substitutions.push(inner);
        self.word().is_dynamic = true;
    }

    fn take_dollar(&mut self) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.take_to_closing_paren();
                self.line.substitutions.push(inner);
                self.word().is_dynamic = true;
            }
            Some('\'') => {
                self.at += 1;
                self.take_ansi_quoted();
            }
            // `$"…"` is a translated string.
            Some('"') => {}
            Some(c) if c.is_alphanumeric() || "_{@*#?!-".contains(c) => {
                let word = self.word();
                word.text.push('$');
                word.is_dynamic = true;
            }
            Some(_) | None => self.word().text.push('$'),
        }
    }

    fn take_to_closing_paren(&mut self) -> String {
        let mut inner = String::new();
        let mut depth = 1_usize;
        while let Some(c) = self.next() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _other => {}
            }
            if depth == 0 {
                break;
            }
            inner.push(c);
        }
        inner
    }

    /// `$'…'`: simple escapes are resolved, coded characters are left to the running shell.
    fn take_ansi_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next()
            && c != '\''
        {
            if c != '\\' {
                self.word().text.push(c);
                continue;
            }
            let escaped = self.next();
            let word = self.word();
            match escaped {
                Some('n') => word.text.push('\n'),
                Some('t') => word.text.push('\t'),
                Some(plain @ ('\\' | '\'' | '"')) => word.text.push(plain),
                Some(_) => word.is_dynamic = true,
                None => {}
            }
        }
    }
}

/// `{a,b}` as a whole word is several words. Deeper forms are left as they are.
fn expand_braces(word: Word) -> Vec<Word> {
    let inner = word.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inner {
        Some(inner) if inner.contains(',') && !inner.contains(['{', '}']) => {
            inner.split(',').map(|text| Word { text: text.to_owned(), is_dynamic: word.is_dynamic }).collect()
        }
        Some(_) | None => vec![word],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<Vec<String>> {
        let line = split(text);
        line.commands.into_iter().map(|command| command.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn words_are_what_a_shell_would_pass() {
        assert_eq!(texts(r#"r"m" '-rf' a\ b"#), [["rm", "-rf", "a b"]]);
        assert_eq!(texts("a;b&&c|d\n(e)"), [["a"], ["b"], ["c"], ["d"], ["e"]]);
        assert_eq!(texts(r#"echo "a;b" 'c|d'"#), [["echo", "a;b", "c|d"]]);
        assert_eq!(texts("rm -rf x 2>/dev/null >> log"), [["rm", "-rf", "x"]]);
        assert_eq!(texts("ls # rm -rf /"), [["ls"]]);
        assert_eq!(texts("{rm,-rf,/}"), [["rm", "-rf", "/"]]);
        assert_eq!(texts("rm \\\n -rf"), [["rm", "-rf"]]);
    }

    #[test]
    fn substitutions_are_set_aside_and_mark_their_word() {
        let line = split(r#"echo "$(rm -rf /)" `id`"#);
        assert_eq!(line.substitutions, ["rm -rf /", "id"]);
        assert!(line.commands[0][1].is_dynamic && line.commands[0][2].is_dynamic);
        assert_eq!(split("echo $(a $(b) c)").substitutions, ["a $(b) c"]);
    }

    #[test]
    fn an_open_quote_ends_with_the_text() {
        assert_eq!(texts("echo 'open"), [["echo", "open"]]);
        assert_eq!(texts("echo \"$("), [["echo", ""]]);
    }
}
