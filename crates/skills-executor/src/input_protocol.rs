//! Protocols for input and environment variables of programs.

/// How a program receives its input and which `SKILL_*` variables are set.
///
/// Variables that the skill declares are set additionally. WebAssembly programs get no `SKILL_DIR`
/// and no `SKILL_ASSETS_DIR`, since they do not see paths of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum InputProtocol {
    /// The OpenSkills protocol: the input as JSON on standard input and in `SKILL_INPUT`;
    /// `SKILL_ID`, `SKILL_NAME`, `SKILL_DIR`, `SKILL_ASSETS_DIR`, `TIMEOUT_MS`, and
    /// `SKILL_WORKSPACE` if there is a workspace.
    #[default]
    OpenSkills,
    /// The script runner protocol: `SKILL_NAME`, `SKILL_DIR` and `SKILL_ASSETS_DIR`, and
    /// `SKILL_WORKSPACE` if the caller set a workspace. Standard input is empty unless the caller
    /// [sets](crate::ExecutionOptions::stdin) it.
    ScriptRunner,
}
