//! The ledger of a process's memory: what its resident bytes are, and to whom they belong.
//!
//! [`smaps`] has the sizes of mappings. [`layout`] says what each part of the private memory is: pages of
//! Ruby's heap, arenas of malloc, stacks, data of libraries. A [`census`] finds the chunks in the arenas
//! ([`arena`], [`index`]) and an owner for each ([`owners`]), and fills a [`report`]. The [`ledger`] is what
//! people and programs read. [`why`] follows the references of objects ([`graph`], [`dominators`], [`paths`]).
//!
//! The modules marked `#[no_implicit_prelude]` run in a copy of the process, where no code may allocate: see
//! `memory/` of the other crate.

#[no_implicit_prelude]
pub mod arena;
#[no_implicit_prelude]
pub mod census;
#[no_implicit_prelude]
pub mod dominators;
#[no_implicit_prelude]
pub mod graph;
#[no_implicit_prelude]
pub mod index;
#[no_implicit_prelude]
pub mod layout;
#[no_implicit_prelude]
pub mod mapping;
#[no_implicit_prelude]
pub mod owners;
#[no_implicit_prelude]
pub mod pages;
#[no_implicit_prelude]
pub mod paths;
#[no_implicit_prelude]
pub mod region;
#[no_implicit_prelude]
pub mod report;
#[no_implicit_prelude]
pub mod sampled;
#[no_implicit_prelude]
pub mod slots;
#[no_implicit_prelude]
pub mod why;
#[no_implicit_prelude]
pub mod why_report;

pub mod diff;
mod findings;
pub mod history;
pub mod holders;
pub mod ledger;
pub mod owner_name;
pub mod rows;
pub mod smaps;
mod text;
