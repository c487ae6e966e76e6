//! The program of a run.

use serde::Serialize;
use skills_sandbox::ScriptType;

/// The program of a run and its type.
///
/// Determines the backend: WebAssembly modules run in the WebAssembly backend, scripts and host
/// commands in the native one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ExecutionMode {
    /// A WebAssembly module or component.
    Wasm {
        /// Path relative to the skill directory.
        wasm_module: String,
    },
    /// A script.
    Native {
        /// Path relative to the skill directory.
        script_path: String,
        /// Language of the script.
        script_type: ScriptType,
    },
    /// A host command.
    Command {
        /// Name of the program.
        program: String,
    },
}

impl ExecutionMode {
    /// Returns the path of the module or script in the skill, or the name of the command's program.
    #[must_use]
    pub fn program(&self) -> &str {
        match self {
            Self::Wasm { wasm_module } => wasm_module,
            Self::Native { script_path, .. } => script_path,
            Self::Command { program } => program,
        }
    }

    /// Returns the type of a script.
    pub(crate) fn script_type(&self) -> Option<ScriptType> {
        match self {
            Self::Native { script_type, .. } => Some(*script_type),
            _ => None,
        }
    }
}
