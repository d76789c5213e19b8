//! Serving a model: from its configuration and the cards in question to an answer for each.
//!
//! In reading order: the fields of a configuration, the layers they tell of, the model that they make, the same built by the
//! user's own transformers, and the answers.

pub mod fields;

mod layers;

mod model;

mod built;

pub mod server;
