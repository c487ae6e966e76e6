//! Why a program failed, as far as its output shows.

use std::path::PathBuf;

use serde::Serialize;
use skills_sandbox::{Refusal, RefusedOperation, RunOutput, ScriptType, Termination};

use crate::ExecutionMode;

/// The end of each stream that is read: programs report an error last.
const MAX_TEXT_BYTES: usize = 8_192;
/// Maximum length of a package name, in characters.
const MAX_NAME_CHARS: usize = 80;
/// Texts with which programs and runtimes report that an allocation failed.
const OUT_OF_MEMORY: [&str; 6] = [
    "MemoryError",
    "std::bad_alloc",
    "Cannot allocate memory",
    "JavaScript heap out of memory",
    "OutOfMemoryError",
    "pthread_create failed",
];
/// Texts before the name of a package that is not installed.
const MISSING_PACKAGE: [(&str, ScriptType); 5] = [
    ("No module named ", ScriptType::Python),
    ("pip install ", ScriptType::Python),
    ("Cannot find module ", ScriptType::Node),
    ("Cannot find package ", ScriptType::Node),
    ("npm install ", ScriptType::Node),
];

/// Why a program failed, so that the host can suggest a remedy. Taken from the output of the
/// program, which can claim anything: nothing depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureCause {
    /// The interpreter does not have a package.
    MissingPackage {
        /// The name of the package or module, as the program wrote it.
        package: String,
        /// The type of the script.
        script_type: ScriptType,
        /// The interpreter that ran, if it is known.
        interpreter: Option<PathBuf>,
        /// What the skill declares for scripts of this type, if it does and support for packages is
        /// compiled in.
        #[serde(skip_serializing_if = "Option::is_none")]
        declared: Option<DeclaredPackages>,
        /// Whether the skill declares this package, and the run had no environment with its packages,
        /// since nothing allowed to install them.
        is_installable: bool,
        /// The packages that a user can accept for the skill, so that it has this one: those that
        /// are configured, those that its text names or its scripts import, and this one. Empty if it is declared, or if
        /// packages are not configured.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        acceptable: Vec<String>,
    },
    /// The program needed more memory than its limit.
    OutOfMemory {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
}

/// Packages that a skill declares, as text. It comes from the skill; escape it before showing it in
/// a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DeclaredPackages {
    /// The file that declares them, as a path in the skill, or `settings`.
    pub source: String,
    /// The packages with their versions.
    pub packages: Vec<String>,
    /// Declarations that cannot be installed, each with its file, line and reason.
    pub problems: Vec<String>,
}

/// Returns why a program of this type failed; `None` if it succeeded, or if its output does not
/// tell.
pub(super) fn failure_cause(
    output: &RunOutput,
    script_type: Option<ScriptType>,
    limit_bytes: u64,
    interpreter: impl FnOnce(ScriptType) -> Option<PathBuf>,
) -> Option<FailureCause> {
    if output.termination.is_success() {
        return None;
    }
    if let Termination::MemoryLimit { limit_bytes } = output.termination {
        return Some(FailureCause::OutOfMemory { limit_bytes });
    }
    // A process that the program started was killed, and the program reports that in other words.
    let is_limit =
        |refusal: &Refusal| matches!(refusal.operation, RefusedOperation::UseMemory { .. });
    if output.refusals.list().iter().any(is_limit) {
        return Some(FailureCause::OutOfMemory { limit_bytes });
    }
    let texts = [&output.stderr, &output.stdout].map(|captured| last_part(&captured.text()));
    let mut lines = texts.iter().flat_map(|text| text.lines());
    if lines
        .clone()
        .any(|line| OUT_OF_MEMORY.iter().any(|marker| line.contains(marker)))
    {
        return Some(FailureCause::OutOfMemory { limit_bytes });
    }
    let script_type = script_type?;
    let package = lines.find_map(|line| missing_package(line, script_type))?;
    Some(FailureCause::MissingPackage {
        package,
        script_type,
        interpreter: interpreter(script_type),
        declared: None,
        is_installable: false,
        acceptable: Vec::new(),
    })
}

/// Returns the type of the code that a run executes: of its script, or of a command such as
/// `python3.12 -c CODE`.
pub(super) fn interpreted_type(mode: &ExecutionMode) -> Option<ScriptType> {
    let ExecutionMode::Command { program } = mode else {
        return mode.script_type();
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "python" => Some(ScriptType::Python),
        "node" => Some(ScriptType::Node),
        _ => None,
    }
}

/// Returns the end of a text that is searched.
fn last_part(text: &str) -> String {
    let start = text.len().saturating_sub(MAX_TEXT_BYTES);
    text[text.ceil_char_boundary(start)..].to_owned()
}

/// Returns the package that a line of output says is missing.
fn missing_package(line: &str, script_type: ScriptType) -> Option<String> {
    let rest = MISSING_PACKAGE
        .iter()
        .filter(|(_, known)| *known == script_type)
        .find_map(|(marker, _)| Some(line.split_once(marker)?.1))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    let rest = rest.trim_start_matches(['\'', '"', '`']);
    let name: String = rest
        .chars()
        .take_while(|c| is_name(*c))
        .take(MAX_NAME_CHARS)
        .collect();
    // Node reports a missing file of the skill itself in the same words.
    let is_file = name.starts_with(['.', '/']) || name.starts_with('-');
    (!name.is_empty() && !is_file).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_execute_code_of_the_type_of_their_program() {
        let type_of = |program: &str| {
            let program = program.to_owned();
            interpreted_type(&ExecutionMode::Command { program })
        };
        assert_eq!(type_of("python3.12"), Some(ScriptType::Python));
        assert_eq!(type_of("/usr/bin/node"), Some(ScriptType::Node));
        assert_eq!(type_of("bash"), None);
    }

    #[test]
    fn messages_of_interpreters_name_the_missing_package() {
        for (line, script_type, package) in [
            (
                "ModuleNotFoundError: No module named 'PIL.Image'",
                ScriptType::Python,
                Some("PIL.Image"),
            ),
            (
                "ERROR: python-pptx not installed. Install with: pip install python-pptx",
                ScriptType::Python,
                Some("python-pptx"),
            ),
            (
                "Error: Cannot find module 'docx'",
                ScriptType::Node,
                Some("docx"),
            ),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@scope/x' imported from /a.mjs",
                ScriptType::Node,
                Some("@scope/x"),
            ),
            (
                "Error: Cannot find module './lib/own.js'",
                ScriptType::Node,
                None,
            ),
            (
                "Error: Cannot find module '/skills/a/lib.js'",
                ScriptType::Node,
                None,
            ),
            ("pip install -r requirements.txt", ScriptType::Python, None),
            ("No module named 'x'", ScriptType::Shell, None),
            ("ValueError: bad", ScriptType::Python, None),
        ] {
            assert_eq!(
                missing_package(line, script_type).as_deref(),
                package,
                "{line}"
            );
        }
    }
}
