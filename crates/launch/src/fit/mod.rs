//! `oomph fit`: the cheapest measures under which a script fits. In reading order: a point of the space of measures with
//! its cost (`point`), the search over them (`search`), trials on the phantom GPU and the answer (`fitter`), and what is
//! kept for the next time (`remembered`).

pub mod fitter;

mod point;

mod remembered;

mod search;
