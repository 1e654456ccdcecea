//! Pages for people: a document's results in Markdown and in HTML, and the score of all.

mod front;
mod markdown;
mod notes;
mod strip;
mod web;
mod words;

pub use front::{front_pictures, scoreboard};
pub use markdown::markdown;
pub use strip::Strip;
pub use web::html;
pub use words::{Page, WRITTEN};
