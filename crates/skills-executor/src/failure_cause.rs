//! Why a program failed, as far as its output shows.

use std::path::PathBuf;

use serde::Serialize;
use skills_policy::ResourceLimits;
use skills_sandbox::{Refusal, RefusedOperation, RunOutput, ScriptType, Termination};

use crate::ExecutionMode;
use crate::program_messages::end_of;

/// Maximum length of a package name, in characters.
const MAX_NAME_CHARS: usize = 80;
/// Texts with which programs and runtimes report that an allocation failed.
const OUT_OF_MEMORY: [&str; 11] = [
    "MemoryError",
    "std::bad_alloc",
    "Cannot allocate memory",
    "JavaScript heap out of memory",
    "Array buffer allocation failed",
    "OutOfMemoryError",
    "There is insufficient memory for the Java Runtime",
    "Could not reserve enough space",
    "pthread_create failed",
    "(os error 12)",
    "ENOMEM",
];
/// Texts with which programs report that they reached a limit of their number of files or processes,
/// or of the size of a file.
const LIMITS: [(&str, LimitKind); 8] = [
    ("Too many open files", LimitKind::OpenFiles),
    ("EMFILE", LimitKind::OpenFiles),
    ("File too large", LimitKind::FileSize),
    ("EFBIG", LimitKind::FileSize),
    (
        "fork: retry: Resource temporarily unavailable",
        LimitKind::Processes,
    ),
    (
        "fork: Resource temporarily unavailable",
        LimitKind::Processes,
    ),
    ("can't start new thread", LimitKind::Processes),
    (
        "BlockingIOError: [Errno 11] Resource temporarily",
        LimitKind::Processes,
    ),
];
/// The signal that ends a program which writes beyond the largest size of a file.
const FILE_SIZE_SIGNAL: i32 = 25;
/// Texts before the name of a package that is not installed.
const MISSING_PACKAGE: [(&str, ScriptType); 6] = [
    ("No module named ", ScriptType::Python),
    ("pip install ", ScriptType::Python),
    ("pip3 install ", ScriptType::Python),
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
        /// The package to which the module belongs, if support for packages is compiled in and one can
        /// be named: `pillow` for `PIL`.
        #[serde(skip_serializing_if = "Option::is_none")]
        package_name: Option<String>,
        /// The type of the script.
        script_type: ScriptType,
        /// The interpreter that ran, if it is known.
        interpreter: Option<PathBuf>,
        /// Whether the script started the interpreter, which it then found in its search path.
        is_started_by_script: bool,
        /// Whether nothing but the output of the program names the package: no declaration, neither the
        /// text nor a script of the skill, and no table of modules that are known. A program can print the
        /// name of a package that its author controls. True without support for packages.
        is_only_reported: bool,
        /// What the skill declares for scripts of this type, if it does and support for packages is
        /// compiled in.
        #[serde(skip_serializing_if = "Option::is_none")]
        declared: Option<DeclaredPackages>,
        /// Whether the skill declares this package, and the run had no environment with its packages,
        /// since nothing allowed to install them.
        is_installable: bool,
        /// The script of the run, if it declares other packages than its skill. They are installed for
        /// this script alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        declaring_script: Option<String>,
        /// The packages that a user can accept for the skill, so that it has this one: those that
        /// are configured, those that its text names or its scripts import, and this one. Empty if it is
        /// declared or [only reported](Self::MissingPackage::is_only_reported), or if packages are not
        /// configured.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        acceptable: Vec<String>,
    },
    /// The program needed more memory than its limit.
    OutOfMemory {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The program reached another limit, which no option raises.
    LimitReached {
        /// What is limited.
        limit: LimitKind,
        /// The limit, in bytes for sizes.
        value: u64,
    },
}

/// What a resource limit limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LimitKind {
    /// The size of each file.
    FileSize,
    /// The number of open files.
    OpenFiles,
    /// The number of processes and threads.
    Processes,
}

impl FailureCause {
    /// Describes the cause as one line, unless it is known from how the program ended. Names come
    /// from the program.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        Some(match self {
            Self::MissingPackage { declared, .. } => {
                let problem = declared.as_ref()?.problems.first()?;
                format!("the skill declares packages that cannot be installed: {problem}")
            }
            Self::OutOfMemory { .. } => return None,
            Self::LimitReached { limit, value } => match limit {
                LimitKind::FileSize => format!(
                    "the program reached the limit of the size of a file, {} MiB, which no option raises",
                    value >> 20
                ),
                LimitKind::OpenFiles => {
                    format!(
                        "the program reached its limit of {value} open files, which no option raises"
                    )
                }
                LimitKind::Processes => format!(
                    "the program reached its limit of {value} processes and threads, which no option raises"
                ),
            },
        })
    }
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
pub(crate) fn failure_cause(
    output: &RunOutput,
    script_type: Option<ScriptType>,
    limits: &ResourceLimits,
    interpreter: impl FnOnce(ScriptType) -> Option<PathBuf>,
) -> Option<FailureCause> {
    if output.termination.is_success() {
        return None;
    }
    let limit_bytes = limits.memory_bytes;
    if let Termination::MemoryLimit { limit_bytes } = output.termination {
        return Some(FailureCause::OutOfMemory { limit_bytes });
    }
    // A process that the program started was killed, and the program reports that in other words.
    let is_limit =
        |refusal: &Refusal| matches!(refusal.operation, RefusedOperation::UseMemory { .. });
    if output.refusals.list().iter().any(is_limit) {
        return Some(FailureCause::OutOfMemory { limit_bytes });
    }
    let texts = [&output.stderr, &output.stdout].map(end_of);
    let mut lines = texts.iter().flat_map(|text| text.lines());
    if lines
        .clone()
        .any(|line| OUT_OF_MEMORY.iter().any(|marker| line.contains(marker)))
    {
        return Some(FailureCause::OutOfMemory { limit_bytes });
    }
    if let Some(limit) = reached_limit(output, lines.clone()) {
        let value = match limit {
            LimitKind::FileSize => limits.file_bytes,
            LimitKind::OpenFiles => limits.open_files,
            LimitKind::Processes => limits.processes,
        };
        return Some(FailureCause::LimitReached { limit, value });
    }
    // Other scripts report missing packages of a Python or Node that they started.
    let interpreted =
        script_type.filter(|kind| matches!(kind, ScriptType::Python | ScriptType::Node));
    let candidates = match interpreted {
        Some(script_type) => vec![script_type],
        None => vec![ScriptType::Python, ScriptType::Node],
    };
    let (package, script_type) = lines.find_map(|line| {
        let mut found = candidates.iter().filter_map(|script_type| {
            let is_known = interpreted.is_some() || is_error_of(line, *script_type);
            let package = missing_package(line, *script_type).filter(|_| is_known)?;
            Some((package, *script_type))
        });
        found.next()
    })?;
    let is_started_by_script = interpreted.is_none();
    Some(FailureCause::MissingPackage {
        package,
        package_name: None,
        script_type,
        // What a script starts is in its search path, not the configured interpreter.
        interpreter: if is_started_by_script {
            None
        } else {
            interpreter(script_type)
        },
        is_started_by_script,
        is_only_reported: true,
        declared: None,
        is_installable: false,
        declaring_script: None,
        acceptable: Vec::new(),
    })
}

/// Returns the type of the code that a run executes: of its script, or of a command such as
/// `python3.12 -c CODE`.
pub(crate) fn interpreted_type(mode: &ExecutionMode) -> Option<ScriptType> {
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

/// Returns true for an error that only an interpreter itself prints. Advice of a script to install a
/// package can be about anything.
fn is_error_of(line: &str, script_type: ScriptType) -> bool {
    match script_type {
        ScriptType::Python => {
            line.starts_with("ModuleNotFoundError: ") || line.contains(": No module named ")
        }
        _ => {
            line.starts_with("Error: Cannot find module ")
                || line.contains("[ERR_MODULE_NOT_FOUND]")
        }
    }
}

/// Returns the limit that a program reached, by how it ended or by its output.
fn reached_limit<'a>(
    output: &RunOutput,
    mut lines: impl Iterator<Item = &'a str>,
) -> Option<LimitKind> {
    let by_signal = Termination::Signaled {
        signal: FILE_SIZE_SIGNAL,
    };
    if output.termination == by_signal {
        return Some(LimitKind::FileSize);
    }
    lines.find_map(|line| {
        let known = LIMITS.iter().find(|(marker, _)| line.contains(marker));
        known.map(|(_, limit)| *limit)
    })
}

/// Returns true if a module is a Python file or a directory with Python files, at the top of the skill
/// or beside the script.
pub(crate) fn is_own_module<'a>(
    mut paths: impl Iterator<Item = &'a str>,
    script: &str,
    module: &str,
) -> bool {
    let top = module.split('.').next().unwrap_or(module);
    let beside = script
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory);
    paths.any(|path| {
        let names_top = |path: &str| {
            let rest = path.strip_prefix(top);
            rest.is_some_and(|rest| rest == ".py" || rest.starts_with('/') && rest.ends_with(".py"))
        };
        let below = path
            .strip_prefix(beside)
            .and_then(|rest| rest.strip_prefix('/'));
        names_top(path) || below.is_some_and(names_top)
    })
}

/// Returns the package that a line of output says is missing.
fn missing_package(line: &str, script_type: ScriptType) -> Option<String> {
    let rest = MISSING_PACKAGE
        .iter()
        .filter(|(_, known)| *known == script_type)
        .find_map(|(marker, _)| Some(line.split_once(marker)?.1))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    // Options come before the names; those that take a file stand for a list of packages.
    let mut rest = rest;
    while let Some((option, after)) = rest
        .split_once(' ')
        .filter(|(word, _)| word.starts_with('-'))
    {
        if matches!(option, "-r" | "--requirement" | "-e" | "--editable") {
            return None;
        }
        rest = after;
    }
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
    fn a_module_of_the_skill_is_no_package() {
        let paths = [
            "SKILL.md",
            "scripts/run.py",
            "scripts/utils.py",
            "lib/a/b.py",
        ];
        let is_own = |module| is_own_module(paths.into_iter(), "scripts/run.py", module);
        assert!(is_own("scripts.utils") && is_own("scripts") && is_own("utils") && is_own("lib.a"));
        assert!(!is_own("util") && !is_own("pypdf") && !is_own("SKILL"));
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
            (
                "run: pip3 install --user python-docx",
                ScriptType::Python,
                Some("python-docx"),
            ),
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
