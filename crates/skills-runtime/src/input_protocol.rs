//! What programs are told of themselves.

/// What a program is told of itself, and how its input reaches it. Variables that the skill
/// declares come on top.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum InputProtocol {
    /// The OpenSkills flow: the input as JSON on standard input and in `SKILL_INPUT`; `SKILL_ID`,
    /// `SKILL_NAME`, `SKILL_DIR`, `SKILL_ASSETS_DIR`, `TIMEOUT_MS`, and `SKILL_WORKSPACE` where
    /// there is a workspace.
    #[default]
    OpenSkills,
    /// The script runner: `SKILL_NAME`, `SKILL_DIR` and `SKILL_ASSETS_DIR`, and `SKILL_WORKSPACE`
    /// where the caller named a workspace; nothing on standard input but what the caller
    /// [gives](crate::ExecutionOptions::stdin).
    ScriptRunner,
}
