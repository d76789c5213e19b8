//! `oomph fit`: the cheapest measures under which a script fits. In reading order: a point of the space of measures with
//! its cost (`cut`, `point`), what the user wants, the search over points, what is kept for the next time (`remembered`), runs of
//! the program with measures, and the fitter that goes through all of it.

mod cut;

mod point;

pub mod request;

mod search;

mod remembered;

mod runs;

mod proof;

pub mod ladder;

pub mod fitter;
