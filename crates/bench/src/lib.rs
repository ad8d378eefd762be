//! Benches of Jackline: `cargo bench` prints each figure beside its goal.
//!
//! There is nothing here. The bench program is `benches/speed`, which builds the floors that it
//! compares with by itself.
