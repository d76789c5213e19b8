//! `oomph view`: recordings found, their pictures made when they are asked for, and served to one browser.
//!
//! In reading order: which recordings; what the page may ask of them; all of it in one file; who is answered; the browser.

mod input;
mod session;
mod single;
mod server;
mod browser;

pub use browser::{has_browser, open};
pub use input::{Input, inputs};
pub use server::{Token, serve};
pub use session::Session;
pub use single::single_file;
