//! The catalog of skills, their content and requirements, and their texts for a model.
//!
//! ```text
//! roots --Discovery--> Catalog --Library--> LoadedSkill, requirements, SkillIndex
//!                                  |
//!                                  +--PromptRenderer--> list, injections, mentions --> model
//!                                  +--UsageRecorder--> ledger
//! ```
//!
//! It must start nothing and hold no grants. It knows the requirements of a run, so that they can be
//! listed before one.
//!
//! ```
//! use skills_discovery::{Discovery, Root, Scope};
//! use skills_library::{Library, LibraryConfig};
//!
//! # let directory = tempfile::tempdir()?;
//! # std::fs::create_dir(directory.path().join("greet"))?;
//! # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
//! let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
//! let library = Library::new(discovery, LibraryConfig::default());
//! assert_eq!(library.discover_skills()[0].description, "Says hello.");
//! assert_eq!(library.get_skill("greet")?.instructions, "Hi\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "search")]
mod cache_file;
mod catalog_cache;
mod content_digests;
mod error;
mod launcher;
mod library;
mod opened_skill;
mod private_file;
mod program_search;
mod prompt_renderer;
#[cfg(feature = "search")]
mod reference_search;
mod requirements;
mod script_checks;
mod script_language;
mod scripts;
mod secrets;
mod skill;
#[cfg(feature = "search")]
mod skill_index;
mod unusable_scripts;
mod usage;

pub use content_digests::ContentDigests;
pub use error::{LibraryError, LibraryErrorKind};
pub use launcher::without_launcher;
pub use library::{Library, LibraryConfig, OnNewCatalog};
pub use opened_skill::{OpenedSkill, find_entry};
pub use private_file::PrivateFile;
pub use program_search::{
    Finders, ProgramSearch, find_interpreter, find_tool, has_program, is_startable,
    with_interpreters,
};
pub use prompt_renderer::{
    ActivationResult, ForkPrompt, InjectionFormat, Injections, MentionDecision, PreparedTurn,
    PromptRenderer, TextPart, TurnInput, TurnMention, TurnSession,
};
#[cfg(feature = "search")]
pub use prompt_renderer::{ListPaths, ListRequest};
#[cfg(feature = "search")]
pub use reference_search::ReferenceSearch;
pub use requirements::{OnMissing, RunHost, read_requirements};
pub use script_checks::{ScriptProblem, ScriptProblemKind, check_scripts};
pub use script_language::ScriptLanguage;
pub use scripts::{SkillPrograms, modules, nested_scripts, root_scripts, scripts};
pub use secrets::{EnvFileWarning, Secrets};
pub use skill::{LoadedSkill, SkillDescriptor};
#[cfg(feature = "search")]
pub use skill_index::{SkillIndex, SkillSearch};
pub use unusable_scripts::{UnusableReason, UnusableScript, unusable_scripts};
pub use usage::{UsageRecorder, ledger_scope};
