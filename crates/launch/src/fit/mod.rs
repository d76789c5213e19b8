//! `oomph fit`: the cheapest measures under which a script fits. In reading order: how a batch is cut, a point of the space
//! of measures, its cost, what the user wants, the search over points, what is kept for the next time (`remembered`), runs of
//! the program with measures, and the fitter that goes through all of it.

mod cut;

mod point;

mod costs;

pub mod request;

mod search;

mod remembered;

mod runs;

mod proof;

pub mod ladder;

pub mod fitter;
