//! A recording, or a replay of it, as what a page draws. Pure: no files, threads or clock.
//!
//! In reading order: the driver's calls watched; the life of every allocation and of every piece of memory held; what each
//! allocation is counted under; levels of time; addresses without the gaps between them; the map; one moment; the peak by
//! stack and by module; the marks on the axis; what is searched for, one block, two recordings; a job without what one line
//! holds; all of it for one recording under one setup; last, how it is written as bytes.

mod watched;

pub mod lives;

pub mod groups;

pub mod pyramid;

pub mod addresses;

pub mod map;

pub mod slice;

pub mod flame;

pub mod marks;

pub mod find;

pub mod without;

pub mod picture;

pub mod encode;
