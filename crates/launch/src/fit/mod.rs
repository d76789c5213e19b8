//! `oomph fit`: the cheapest measures under which a script fits. In reading order: a point of the space of measures
//! (`point`), its cost, what the user wants, the search over points, what is kept for the next time (`remembered`), runs of
//! the program with measures, and the fitter that goes through all of it.

mod point;

mod costs;

pub mod request;

mod search;

mod remembered;

mod runs;

pub mod fitter;
