//! Money, without fractions that drift.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// An amount in billionths of a US dollar.
///
/// Sums are exact and saturate: nine quintillion nano-dollars are nine billion dollars.
///
/// ```
/// use jackline_model::NanoDollars;
/// let call = NanoDollars::from_dollars(0.03);
/// assert_eq!((call + call).to_string(), "$0.06");
/// assert_eq!(NanoDollars::from_dollars(f64::NAN), NanoDollars::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NanoDollars(pub i64);

impl NanoDollars {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Converts from dollars, rounded to the nearest billionth; what is not a number becomes zero.
    pub fn from_dollars(dollars: f64) -> Self {
        // A float-to-integer cast saturates and maps NaN to zero, which is the documented result.
        Self((dollars * NANOS_PER_DOLLAR).round() as i64)
    }

    /// The amount in dollars, for display and for JSON.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / NANOS_PER_DOLLAR
    }
}

impl Add for NanoDollars {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for NanoDollars {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for NanoDollars {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for NanoDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.dollars())
    }
}

const NANOS_PER_DOLLAR: f64 = 1e9;
