//! Which module of a model was at work when.

use super::read::{Field, Node, dicts, lists, value_or};

dicts! {
    /// The modules of models.
    ModuleNotes {
        /// What each is called, by its number: the class of the model, and below it the model's own names, with dots.
        names: Vec<String>,
        /// The class of each, by its number.
        kinds: Vec<String>,
        /// Which of them was innermost, from when on.
        turns: Vec<ModuleTurn>,
    }
}

lists! {
    /// A module begins to work, or goes on when one in it has ended.
    ModuleTurn {
        /// When.
        time_us: u64,
        /// Its number; `None`: no module is at work.
        module: Option<u32>,
    }
}
