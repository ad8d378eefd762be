//! A second reader of replies, written from the contract and not from the first one.
//!
//! It cuts the text into tokens, walks a table of a push-down automaton, and notes the members of the outermost
//! object on the way. It shares no code with the reader that it checks, and uses no JSON library.

use crate::{ControlReply, FaultCode};

pub(super) fn classify(status: u16, body: &[u8]) -> Result<ControlReply, FaultCode> {
    if !(200..300).contains(&status) {
        return Err(FaultCode::HttpError);
    }
    if status == 204 {
        return Ok(ControlReply::Notification);
    }
    if body.len() > 65_536 {
        return Err(FaultCode::ResponseTooLarge);
    }
    let Ok(text) = String::from_utf8(body.to_vec()) else {
        return Err(FaultCode::InvalidResponse);
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let Some(members) = tokens(text).and_then(|tokens| walk(&tokens)) else {
        return Ok(ControlReply::Notification);
    };
    let last = |name: &str| members.iter().rev().find(|(key, _)| *key == utf16(name)).map(|(_, value)| value);
    let is = |value: &Option<Vec<u16>>, name: &str| *value == Some(utf16(name));
    match (last("decision"), last("reason")) {
        (None, _) => Ok(ControlReply::Notification),
        (Some(decision), _) if is(decision, "allow") => Ok(ControlReply::Allow),
        (Some(decision), None) if is(decision, "deny") => Ok(ControlReply::Deny { reason: None }),
        (Some(decision), Some(Some(reason))) if is(decision, "deny") => {
            Ok(ControlReply::Deny { reason: Some(String::from_utf16_lossy(reason)) })
        }
        (Some(_), _) => Err(FaultCode::InvalidResponse),
    }
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Mark(char),
    Text(Vec<u16>),
    Other,
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            ' ' | '\t' | '\r' | '\n' => at += 1,
            mark @ ('{' | '}' | '[' | ']' | ',' | ':') => {
                found.push(Token::Mark(mark));
                at += 1;
            }
            '"' => {
                let (text, after) = string(&chars, at + 1)?;
                found.push(Token::Text(text));
                at = after;
            }
            _ => {
                let end = chars[at..].iter().position(|char| " \t\r\n{}[],:\"".contains(*char));
                let end = end.map_or(chars.len(), |length| at + length);
                let word: String = chars[at..end].iter().collect();
                (matches!(word.as_str(), "true" | "false" | "null") || is_number(&word)).then_some(())?;
                found.push(Token::Other);
                at = end;
            }
        }
    }
    Some(found)
}

fn string(chars: &[char], mut at: usize) -> Option<(Vec<u16>, usize)> {
    let mut text = Vec::new();
    loop {
        match *chars.get(at)? {
            '"' => return Some((text, at + 1)),
            '\\' => {
                let escape = *chars.get(at + 1)?;
                at += 2;
                if escape == 'u' {
                    let digits: String = chars.get(at..at + 4)?.iter().collect();
                    digits.chars().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
                    text.push(u16::from_str_radix(&digits, 16).ok()?);
                    at += 4;
                } else {
                    let named = "\"\\/bfnrt".chars().position(|name| name == escape)?;
                    text.push([0x22, 0x5c, 0x2f, 8, 12, 10, 13, 9][named]);
                }
            }
            control if control < ' ' => return None,
            char => {
                text.extend(utf16(&char.to_string()));
                at += 1;
            }
        }
    }
}

/// States: 0 start, 1 minus, 2 zero, 3 digits, 4 point, 5 fraction, 6 exponent, 7 its sign, 8 its digits. 9 is no number.
/// Columns: minus, plus, zero, other digit, point, e.
const NUMBER: [[usize; 6]; 9] = [
    [1, 9, 2, 3, 9, 9],
    [9, 9, 2, 3, 9, 9],
    [9, 9, 9, 9, 4, 6],
    [9, 9, 3, 3, 4, 6],
    [9, 9, 5, 5, 9, 9],
    [9, 9, 5, 5, 9, 6],
    [7, 7, 8, 8, 9, 9],
    [9, 9, 8, 8, 9, 9],
    [9, 9, 8, 8, 9, 9],
];

fn is_number(word: &str) -> bool {
    let mut state = 0;
    for char in word.chars() {
        let column = match char {
            '-' => 0,
            '+' => 1,
            '0' => 2,
            '1'..='9' => 3,
            '.' => 4,
            'e' | 'E' => 5,
            _ => return false,
        };
        state = NUMBER[state][column];
        if state == 9 {
            return false;
        }
    }
    matches!(state, 2 | 3 | 5 | 8)
}

/// States: 0 value, 1 value or `]`, 2 key or `}`, 3 key, 4 colon, 5 comma or end.
/// Columns: `{` `}` `[` `]` `,` `:` text other. 9 is no JSON; 6 opens an object, 7 opens a list, 8 closes.
const GRAMMAR: [[usize; 8]; 6] = [
    [6, 9, 7, 9, 9, 9, 5, 5],
    [6, 9, 7, 8, 9, 9, 5, 5],
    [9, 8, 9, 9, 9, 9, 4, 9],
    [9, 9, 9, 9, 9, 9, 4, 9],
    [9, 9, 9, 9, 9, 0, 9, 9],
    [9, 8, 9, 8, 3, 9, 9, 9],
];

type Member = (Vec<u16>, Option<Vec<u16>>);

/// The members of the outermost object: each key, and its value if that is a text.
fn walk(tokens: &[Token]) -> Option<Vec<Member>> {
    let (mut state, mut open, mut members) = (0, Vec::new(), Vec::<Member>::new());
    for (index, token) in tokens.iter().enumerate() {
        let column = match token {
            Token::Mark(mark) => "{}[],:".find(*mark)?,
            Token::Text(_) => 6,
            Token::Other => 7,
        };
        let was = state;
        state = match GRAMMAR[state][column] {
            6 => {
                open.push('{');
                2
            }
            7 => {
                open.push('[');
                1
            }
            8 => {
                let closed = open.pop()?;
                (closed == if column == 1 { '{' } else { '[' }).then_some(())?;
                5
            }
            3 => {
                if *open.last()? == '{' {
                    3
                } else {
                    0
                }
            }
            9 => return None,
            next => next,
        };
        if let (2 | 3, Token::Text(key), ['{']) = (was, token, open.as_slice()) {
            let value = match tokens.get(index + 2) {
                Some(Token::Text(value)) => Some(value.clone()),
                Some(Token::Mark(_) | Token::Other) | None => None,
            };
            members.push((key.clone(), value));
        }
        // Behind the outermost value nothing may follow.
        if state == 5 && open.is_empty() && index + 1 < tokens.len() {
            return None;
        }
    }
    let whole = state == 5 && open.is_empty();
    (whole && tokens.first() == Some(&Token::Mark('{'))).then_some(members)
}
