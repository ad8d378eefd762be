//! Everything that this program prints goes through here.
//!
//! Standard output carries what was asked for, standard error what must be said besides. Nothing
//! that a model or a tool wrote reaches a terminal with its control characters.

mod card;
mod out;
mod screen;
mod style;
mod timeline;

pub(crate) use card::{clipped, counted, one_line, plain, thousands};
pub(crate) use out::{Out, say};
pub(crate) use screen::Screen;
pub(crate) use style::{ColorChoice, Paint};
pub(crate) use timeline::used;
