//! What the formats show. All files are one program, so that it is linked once.

mod browser;
mod card;
mod chromium;
mod html;
mod page;
mod plan;
mod schema;
mod serve;
