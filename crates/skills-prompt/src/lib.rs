//! What the model sees of skills, and what is read out of what it and its user say: pure functions from a catalogue and text to text and
//! decisions.
//!
//! ```text
//! items + Budget   --Rendering------> Catalogue: section, and what the budget did to it
//! text  + Nonce    --Injection------> one skill's text, framed, bounded, without forged tags
//! input            --MentionIndex---> skills that the user names, and what became of each mention
//! command line     --ImplicitIndex--> skills that the model used without being told
//! entries + host   --Needs----------> what is missing, and what to ask the user
//! ```
//!
//! Text of a skill is data. It is put on one line where one line is ours, it can open or close no tag of ours, and what a reader cannot see is
//! removed and reported.
//!
//! This crate must never know the disk, telemetry, tools, sandboxes, or which host or model it writes for. The same entries and budget give
//! the same bytes.
//!
//! ```
//! use skills_prompt::{Budget, Catalogue, Item};
//!
//! let items = [Item::new("greet", "Says hello.", "/skills/greet/SKILL.md")];
//! let catalogue = Catalogue::render(&items, Budget::Characters(8_000));
//! assert!(catalogue.text().contains("- greet: Says hello. (file: /skills/greet/SKILL.md)"));
//! ```

mod active;
mod budget;
mod catalogue;
mod escape;
mod excerpt;
mod implicit;
mod injection;
mod item;
mod mentions;
mod needs;
mod paths;
mod role;
mod strategy;

pub use active::{Activation, Active};
pub use budget::{Budget, Tokenizer};
pub use catalogue::{Catalogue, Fate, Fill, Format, HiddenText, HowTo, Place, Rendering, Report, Shortening};
pub use excerpt::{DEFAULT_MAX_BYTES, LeftOut};
pub use implicit::{CommandLine, ImplicitIndex, ImplicitUse, Turn, Use, UseKind};
pub use injection::{Injected, Injection, Nonce, already_active};
pub use item::{Item, Mode, Modes, offered, roots};
pub use mentions::{Confidence, Doubt, Input, Mention, MentionIndex, MentionOptions, Mentions, Outcome, Way};
pub use needs::{
    Answer, Approval, Asking, NeededProgram, NeededServer, NeededVariable, Needs, Present, Question, Secret, Session, Unusable, settle,
};
pub use role::Role;
pub use strategy::{Scripts, script_strategy};
