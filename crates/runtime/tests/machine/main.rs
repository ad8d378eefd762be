//! The machine of an operation, told as scripts: inputs go in, and the whole list of effects that
//! come out is compared.

mod calls;
mod compaction;
mod drive;
mod ends;
mod human;
mod parked;
mod plain;
mod stop;
