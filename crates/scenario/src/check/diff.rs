//! Two sequences side by side.

use std::fmt::Write as _;

/// The expected and the real sequence, line by line, with marks where they differ.
pub(crate) fn side_by_side(expected: &[String], real: &[String]) -> String {
    let width = expected.iter().map(|line| line.chars().count()).max().unwrap_or(0).clamp(8, WIDTH_MAX);
    let mut text = format!("      {:<width$}   real\n", "expected");
    for (at, (left, right)) in align(expected, real).into_iter().enumerate() {
        let mark = match (left, right) {
            (Some(left), Some(right)) if left == right => ' ',
            (Some(_), Some(_)) => '!',
            (Some(_), None) => '-',
            (None, _) => '+',
        };
        let (left, right) = (left.map_or("", String::as_str), right.map_or("", String::as_str));
        let _ = writeln!(text, "{:>3} {mark} {left:<width$} {mark} {right}", at + 1);
    }
    text
}

type Pair<'a> = (Option<&'a String>, Option<&'a String>);

/// Pairs equal lines, as many as can be, in order.
fn align<'a>(left: &'a [String], right: &'a [String]) -> Vec<Pair<'a>> {
    let mut common = vec![vec![0_usize; right.len() + 1]; left.len() + 1];
    for row in (0..left.len()).rev() {
        for column in (0..right.len()).rev() {
            common[row][column] = if left[row] == right[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut pairs = Vec::new();
    while row < left.len() || column < right.len() {
        let (one, other) = (left.get(row), right.get(column));
        let takes_left = one.is_some() && (other.is_none() || common[row + 1][column] >= common[row][column + 1]);
        if one == other {
            pairs.push((one, other));
            (row, column) = (row + 1, column + 1);
        } else if takes_left {
            pairs.push((one, None));
            row += 1;
        } else {
            pairs.push((None, other));
            column += 1;
        }
    }
    pairs
}

/// Longer lines push their column aside.
const WIDTH_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_is_missing_and_what_is_too_much_stand_in_their_columns() {
        let text = side_by_side(&lines(&["a", "b", "c"]), &lines(&["a", "c", "d"]));
        let expected =
            "      expected   real\n  1   a          a\n  2 - b        - \n  3   c          c\n  4 +          + d\n";
        assert_eq!(text, expected);
    }
}
