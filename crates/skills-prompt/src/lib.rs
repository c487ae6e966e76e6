//! Renders skills into prompt text and resolves mentions in user input. All functions are pure:
//! from a catalog and text to text and decisions.
//!
//! ```text
//! summaries + Budget  --SkillListRenderer----> SkillList: skills section and render report
//! text + Nonce        --InjectionBuilder-----> Injection: text of one skill inside safe tags
//! user input          --MentionIndex---------> Mentions: skills that the user names
//! command line        --ImplicitIndex--------> SkillUse: implicit invocations
//! entries + HostProbe --MissingRequirements-> SetupPrompt: what is missing, what to ask the user
//! ```
//!
//! Text of a skill is untrusted data. A name or description is put on one line, no text can open
//! or close a tag of the runtime, and invisible characters are removed and reported.
//!
//! This crate must never depend on the disk, telemetry, tools, sandboxes, or a specific host
//! application or model. The same entries and the same budget give the same bytes.
//!
//! ```
//! use skills_prompt::{Budget, SkillList, SkillSummary};
//!
//! let skills = [SkillSummary::new("greet", "Says hello.", "/skills/greet/SKILL.md")];
//! let list = SkillList::render(&skills, Budget::Characters(8_000));
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
mod shell_lexer;
mod shell_line;
mod skill_list;
mod skill_summary;
mod split_command;
mod word_list;

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
    HostProbe, InstalledServers, InvalidRequirement, MissingProgram, MissingRequirements,
    MissingServer, MissingVariable, PromptPolicy, PromptResponse, Prompter, RequirementSession,
    ResolvedRequirements, SetupPrompt, UnsupportedSystem, resolve_requirements,
};
pub use role::Role;
pub use script_instructions::{SkillScripts, script_tool_instructions};
pub use shell_line::{
    CharSet, LineCommand, LineInput, LineOutput, LineStep, LineWord, RunIf, ShellLine, WordPart,
};
pub use skill_list::{
    Allocation, EntryReport, Inclusion, ListFormat, RemovedCharacter, RenderReport, SkillList,
    SkillListRenderer, Truncation, UsageInstructions,
};
pub use skill_summary::{
    ListingMode, ListingModes, SkillSummary, model_invocable_skills, root_paths,
};
pub use split_command::{SplitCommand, split_command};
