//! What the formats show. One program for all of them: each of its own would be linked again.

mod browser;
mod card;
mod chromium;
mod html;
mod page;
mod plan;
mod schema;
