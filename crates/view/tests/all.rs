//! Pictures of real recordings beside the engine that they are drawn from.

mod recorded;

mod levels;

mod map;

mod marks;
