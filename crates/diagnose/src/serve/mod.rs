//! Serving a model: how much of a card its weights take, and how many sequences the rest has room for.
//!
//! In reading order: the model as its configuration describes it, and the room that a card leaves for its cache.

pub mod model;

pub mod room;
