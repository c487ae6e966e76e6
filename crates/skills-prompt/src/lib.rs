//! What the model sees: the catalogue within a [`Budget`], and one skill's body in a frame.
//!
//! ```text
//! entries + Budget --Catalogue::render--> section text + who was shortened or left out
//! body + Nonce     --frame-------------> fenced text that the body cannot close
//! ```
//!
//! Text of a skill is data. It is put on one line where one line is ours, its angle brackets cannot close a tag of ours, and what a
//! reader cannot see is removed.
//!
//! This crate must never know the disk, telemetry, tools, sandboxes, or which host or model it writes for. The same entries and
//! budget give the same bytes.
//!
//! ```
//! use skills_prompt::{Budget, Catalogue, Item};
//!
//! let items = [Item { name: "greet", description: "Says hello.", location: "/skills/greet/SKILL.md" }];
//! let catalogue = Catalogue::render(&items, Budget::Characters(8_000));
//! assert!(catalogue.text().contains("- greet: Says hello. (file: /skills/greet/SKILL.md)"));
//! ```

mod budget;
mod catalogue;
mod escape;
mod fragment;
mod item;

pub use budget::Budget;
pub use catalogue::Catalogue;
pub use fragment::{Fragment, Nonce, frame};
pub use item::{Item, OwnedItem, offered};
