//! What the model sees of skills, and what is read out of what it and its user say: pure functions
//! from a catalogue and text to text and decisions.
//!
//! ```text
//! items + Budget   --Rendering------> Catalogue: section, and what the budget did to it
//! text  + Nonce    --Injection------> one skill's text, framed, bounded, without forged tags
//! input            --MentionIndex---> skills that the user names, and what became of each mention
//! command line     --ImplicitIndex--> skills that the model used without being told
//! entries + host   --Needs----------> what is missing, and what to ask the user
//! ```
//!
//! Text of a skill is data. It is put on one line where one line is ours, it can open or close no
//! tag of ours, and what a reader cannot see is removed and reported.
//!
//! This crate must never know the disk, telemetry, tools, sandboxes, or which host or model it
//! writes for. The same entries and budget give the same bytes.
//!
//! ```
//! use skills_prompt::{Budget, SkillList, SkillSummary};
//!
//! let items = [SkillSummary::new("greet", "Says hello.", "/skills/greet/SKILL.md")];
//! let list = SkillList::render(&items, Budget::Characters(8_000));
//! assert!(list.text().contains("- greet: Says hello. (file: /skills/greet/SKILL.md)"));
//! ```

mod active_skills;
mod budget;
mod excerpt;
mod implicit;
mod injection;
mod mentions;
mod paths;
mod requirements;
mod role;
mod sanitize;
mod script_instructions;
mod skill_list;
mod skill_summary;

pub use active_skills::{Activation, ActiveSkills};
pub use budget::{Budget, Tokenizer};
pub use excerpt::{DEFAULT_MAX_INJECTION_BYTES, OmittedRange};
pub use implicit::{
    CommandLine, ImplicitIndex, ImplicitInvocation, SkillUse, TurnInvocations, UseKind,
};
pub use injection::{Injection, InjectionBuilder, Nonce, already_active_notice};
pub use mentions::{
    Confidence, Mention, MentionIndex, MentionKind, MentionOptions, Mentions, Resolution,
    SuggestionReason, UserInput,
};
pub use requirements::{
    HostProbe, InvalidRequirement, MissingProgram, MissingRequirements, MissingServer,
    MissingVariable, PromptPolicy, PromptResponse, Prompter, RequirementSession, Secret,
    SetupPrompt, UnsupportedSystem, resolve_requirements,
};
pub use role::Role;
pub use script_instructions::{SkillScripts, script_tool_instructions};
pub use skill_list::{
    Allocation, EntryReport, Inclusion, ListFormat, RemovedCharacter, RenderReport, SkillList,
    SkillListRenderer, Truncation, UsageInstructions,
};
pub use skill_summary::{
    ListingMode, ListingModes, SkillSummary, model_invocable_skills, root_paths,
};
