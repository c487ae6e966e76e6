//! Why a program failed, as far as the runtime observed it or its output shows.

use std::path::PathBuf;

use serde::Serialize;
use skills_policy::ResourceLimits;
use skills_sandbox::{Refusal, Refusals, RefusedOperation, ScriptType, Termination};

use super::ended_run::EndedRun;
use super::facts::redact_path;
use super::outside::{FileOwner, OutsideLink};
use super::printed::{
    end_of, is_error_of, is_permission_denied, missing_package, missing_program, missing_variable,
};
use crate::ExecutionMode;
use crate::redaction::Redactor;

/// Texts with which programs and runtimes report that an allocation failed.
const OUT_OF_MEMORY: [&str; 20] = [
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
    // Reservations of memory, which `RLIMIT_DATA` counts.
    "failed to map segment from shared object",
    "mmap failed",
    "ould not mmap",
    "blas_thread_init",
    "OpenBLAS error: Memory allocation",
    "memory allocation of ",
    "failed to reserve page summary memory",
    "Out of Memory Error:",
    "could not allocate memory",
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

/// Why a program failed. Serialized with its name in kebab case as `kind`.
///
/// Causes with names of packages, variables and programs are read from the output of the program, which
/// can claim anything: nothing depends on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// The interpreter does not have a package.
    MissingPackage(Box<MissingPackage>),
    /// The program imports a module that a directory beside the skill or the workspace has. Which one is
    /// not said: the program may have named it to learn that.
    LocalModule {
        /// The module, as the program wrote it.
        module: String,
        /// Where it is.
        place: LocalModulePlace,
    },
    /// A variable of the environment is not passed to the run.
    WithheldVariable(WithheldVariable),
    /// A program that the script starts does not exist where the run searches for it.
    MissingProgram {
        /// The name of the program.
        program: String,
    },
    /// A granted file leads to a path that is not granted.
    LeadsOutside(OutsideLink),
    /// The workspace belongs to another user, and a run of root has no more rights than others.
    ForeignOwner(FileOwner),
    /// A shell script has the line ends of Windows, which shells read as a part of each line.
    WindowsLineEnds {
        /// The script, as a path in its skill.
        script: String,
    },
    /// The program needed more memory than its limit.
    OutOfMemory {
        /// The limit, in bytes.
        limit_bytes: u64,
        /// Whether only the program reports it, in the words for a failed allocation or mapping.
        is_only_reported: bool,
    },
    /// The program reached another limit.
    LimitReached {
        /// What is limited.
        limit: LimitKind,
        /// The limit, in bytes for sizes.
        value: u64,
    },
}

/// Where a local module is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LocalModulePlace {
    /// At the top of the skill or beside the script, where Python searches.
    Skill,
    /// Elsewhere in the skill.
    SkillDirectory,
    /// In a directory beside the skill.
    BesideSkill,
    /// In the workspace.
    Workspace,
}

/// A package that an interpreter does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MissingPackage {
    /// The name of the package or module, as the program wrote it.
    pub package: String,
    /// The package to which the module belongs, if support for packages is compiled in and one can
    /// be named: `pillow` for `PIL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_name: Option<String>,
    /// The type of the script.
    pub script_type: ScriptType,
    /// The interpreter that ran, if it is known.
    pub interpreter: Option<PathBuf>,
    /// Whether the script started the interpreter, which it then found in its search path.
    pub is_started_by_script: bool,
    /// Whether nothing but the output of the program names the package: no declaration, neither the
    /// text nor a script of the skill, and no table of modules that are known. A program can print the
    /// name of a package that its author controls. True without support for packages.
    pub is_only_reported: bool,
    /// What the skill declares for scripts of this type, if it does and support for packages is
    /// compiled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<DeclaredPackages>,
    /// Whether the skill declares this package, and the run had no environment with its packages,
    /// since nothing allowed to install them.
    pub is_installable: bool,
    /// The script of the run, if it declares other packages than its skill. They are installed for
    /// this script alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaring_script: Option<String>,
    /// The rule that allows exactly this package, if a Python file of the skill imports its module and
    /// the skill does not declare it. `None` if packages are not configured, and for local modules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowing_rule: Option<String>,
    /// The packages that the setting of the skill lists if a user accepts this one: those that it lists
    /// already, and this one. Empty if a [rule](Self::allowing_rule) allows it, if it is declared, local or
    /// [only reported](Self::is_only_reported), or if packages are not configured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptable: Vec<String>,
}

/// A variable of the environment that a run does not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WithheldVariable {
    /// Its name.
    pub name: String,
    /// Whether the skill declares it.
    pub is_declared: bool,
    /// Whether nothing but the output of the program names it: neither the skill nor its script. A
    /// program can print the name of a variable that holds a secret of another program.
    pub is_only_reported: bool,
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

impl LimitKind {
    /// Returns this limit, in bytes for sizes.
    pub(super) fn of(self, limits: &ResourceLimits) -> u64 {
        match self {
            Self::FileSize => limits.file_bytes,
            Self::OpenFiles => limits.open_files,
            Self::Processes => limits.processes,
        }
    }

    /// Returns the option of the command that sets it.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::FileSize => "--file-size",
            Self::OpenFiles => "--open-files",
            Self::Processes => "--processes",
        }
    }

    /// Returns a value of this limit as its option takes it: sizes in MiB.
    pub(super) fn in_option(self, value: u64) -> u64 {
        match self {
            Self::FileSize => value >> 20,
            Self::OpenFiles | Self::Processes => value,
        }
    }
}

impl MissingPackage {
    /// Returns the name of the package, or what the program wrote if its package is not known.
    #[must_use]
    pub fn name(&self) -> &str {
        self.package_name.as_ref().unwrap_or(&self.package)
    }
}

impl Cause {
    /// Describes the cause as one line, unless it is known from how the program ended, or its remedy
    /// says it. Names come from the program.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        Some(match self {
            Self::MissingPackage(missing) => {
                let problem = missing.declared.as_ref()?.problems.first()?;
                format!("the skill declares packages that cannot be installed: {problem}")
            }
            Self::LocalModule {
                module,
                place: LocalModulePlace::Workspace,
            } => format!(
                "`{module}` is a module of the workspace, where the script does not search; a package of that name is another one"
            ),
            Self::LocalModule { module, .. } => format!(
                "`{module}` is a module of a directory beside the skill, which is not visible to this run; a package of that name is another one"
            ),
            Self::WithheldVariable(WithheldVariable { name, .. }) => {
                format!("the variable `{name}` is not passed to this run")
            }
            Self::MissingProgram { program } => {
                format!("the program `{program}` is not in the `PATH` of the run")
            }
            Self::LeadsOutside(link) => format!(
                "`{}`, {}, leads to `{}`, which {}",
                link.file.display(),
                link.link,
                link.target.display(),
                if link.is_visible {
                    "this run cannot write"
                } else {
                    "is not visible to this run"
                }
            ),
            Self::ForeignOwner(FileOwner { path, user_id }) => format!(
                "`{}` belongs to the user {user_id}, and in the sandbox root has only the rights of other users: run as that user, or give it a directory of root",
                path.display()
            ),
            Self::WindowsLineEnds { script } => {
                format!(
                    "`{script}` has Windows line ends (CRLF), which a shell reads as a part of each line"
                )
            }
            Self::OutOfMemory {
                limit_bytes,
                is_only_reported: true,
            } => format!(
                "the program could not get memory within its limit of {} MiB",
                limit_bytes >> 20
            ),
            Self::OutOfMemory { .. } => return None,
            Self::LimitReached { limit, value } => match limit {
                LimitKind::FileSize => format!(
                    "the program reached the limit of the size of a file, {} MiB",
                    value >> 20
                ),
                LimitKind::OpenFiles => {
                    format!("the program reached its limit of {value} open files")
                }
                LimitKind::Processes => {
                    format!("the program reached its limit of {value} processes and threads")
                }
            },
        })
    }

    pub(super) fn redact(&mut self, redactor: &Redactor) {
        match self {
            Self::MissingPackage(missing) => {
                let names = missing
                    .package_name
                    .iter_mut()
                    .chain(&mut missing.allowing_rule)
                    .chain(&mut missing.acceptable);
                redactor.redact_all(names.chain([&mut missing.package]));
            }
            Self::LocalModule { module: text, .. }
            | Self::MissingProgram { program: text }
            | Self::WindowsLineEnds { script: text }
            | Self::WithheldVariable(WithheldVariable { name: text, .. }) => {
                redactor.redact_all([text]);
            }
            Self::LeadsOutside(link) => {
                redact_path(&mut link.file, redactor);
                redact_path(&mut link.target, redactor);
                for path in &mut link.written {
                    redact_path(path, redactor);
                }
            }
            Self::ForeignOwner(owner) => redact_path(&mut owner.path, redactor),
            Self::OutOfMemory { .. } | Self::LimitReached { .. } => {}
        }
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

/// Returns why a program failed; `None` if it succeeded, or if nothing tells.
pub(super) fn cause(run: &EndedRun<'_>, refusals: &Refusals) -> Option<Cause> {
    if !run.is_failure() {
        return None;
    }
    let texts = [&run.output.stderr, &run.output.stdout].map(end_of);
    let lines = || texts.iter().flat_map(|text| text.lines());
    observed_limit(run)
        .or_else(|| windows_line_ends(run))
        .or_else(|| run.outside.clone().map(Cause::LeadsOutside))
        .or_else(|| reported_limit(run, lines()))
        .or_else(|| missing_package_of(run, lines()))
        .or_else(|| withheld_variable(run, &texts))
        .or_else(|| missing_program_of(refusals, &texts))
        .or_else(|| {
            let is_denied = texts.iter().any(|text| is_permission_denied(text));
            let owner = run.foreign_owner.clone().filter(|_| is_denied);
            owner.map(Cause::ForeignOwner)
        })
}

/// Returns the limit that the kernel or the backend enforced.
fn observed_limit(run: &EndedRun<'_>) -> Option<Cause> {
    let by_signal = Termination::Signaled {
        signal: FILE_SIZE_SIGNAL,
    };
    // A process that the program started was killed, and the program reports that in other words.
    let is_limit =
        |refusal: &Refusal| matches!(refusal.operation, RefusedOperation::UseMemory { .. });
    let limits = run.grants().limits();
    match run.output.termination {
        Termination::MemoryLimit { limit_bytes } => Some(out_of_memory(limit_bytes, false)),
        _ if run.output.refusals.list().iter().any(is_limit) => {
            Some(out_of_memory(limits.memory_bytes, false))
        }
        ref termination if *termination == by_signal => limit_reached(LimitKind::FileSize, limits),
        _ => None,
    }
}

fn out_of_memory(limit_bytes: u64, is_only_reported: bool) -> Cause {
    Cause::OutOfMemory {
        limit_bytes,
        is_only_reported,
    }
}

/// Returns the cause, unless the run had no such limit: a file system has limits too.
fn limit_reached(limit: LimitKind, limits: &ResourceLimits) -> Option<Cause> {
    let value = limit.of(limits);
    (value < u64::MAX).then_some(Cause::LimitReached { limit, value })
}

/// Returns the limit that the output reports.
fn reported_limit<'a>(
    run: &EndedRun<'_>,
    mut lines: impl Iterator<Item = &'a str> + Clone,
) -> Option<Cause> {
    let limits = run.grants().limits();
    let is_memory = |line: &str| OUT_OF_MEMORY.iter().any(|marker| line.contains(marker));
    if lines.clone().any(is_memory) {
        return Some(out_of_memory(limits.memory_bytes, true));
    }
    lines.find_map(|line| {
        let (_, limit) = LIMITS.iter().find(|(marker, _)| line.contains(marker))?;
        limit_reached(*limit, limits)
    })
}

/// Shells report the first command of such a script in words that do not show its last character.
fn windows_line_ends(run: &EndedRun<'_>) -> Option<Cause> {
    let (path, text) = &run.script;
    let is_shell = run.script_type == Some(ScriptType::Shell);
    (is_shell && text.contains("\r\n")).then(|| Cause::WindowsLineEnds {
        script: (*path).to_owned(),
    })
}

fn withheld_variable(run: &EndedRun<'_>, texts: &[String]) -> Option<Cause> {
    let name = texts
        .iter()
        .find_map(|text| missing_variable(text, &run.script.1))?;
    if run.grants().variables().contains(name) {
        return None;
    }
    let is_declared = run
        .declared_variables
        .iter()
        .any(|declared| declared == name);
    Some(Cause::WithheldVariable(WithheldVariable {
        name: name.to_owned(),
        is_declared,
        is_only_reported: !is_declared && !has_word(&run.script.1, name),
    }))
}

/// Returns true if a text contains a name that is not a part of a longer one.
fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word == name)
}

/// Returns the program that the output reports as missing, unless starting it was refused.
fn missing_program_of(refusals: &Refusals, texts: &[String]) -> Option<Cause> {
    let is_refused = refusals.list().iter().any(|refusal| {
        matches!(
            refusal.operation,
            RefusedOperation::StartProcess | RefusedOperation::StartProgram { .. }
        )
    });
    let program = texts.iter().find_map(|text| missing_program(text))?;
    (!is_refused).then(|| Cause::MissingProgram {
        program: program.to_owned(),
    })
}

/// Returns the package that the output reports as missing.
fn missing_package_of<'a>(
    run: &EndedRun<'_>,
    mut lines: impl Iterator<Item = &'a str>,
) -> Option<Cause> {
    // Other scripts report missing packages of a Python or Node that they started.
    let interpreted = run
        .interpreted
        .filter(|kind| matches!(kind, ScriptType::Python | ScriptType::Node));
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
    Some(Cause::MissingPackage(Box::new(MissingPackage {
        package,
        package_name: None,
        script_type,
        interpreter: None,
        is_started_by_script: interpreted.is_none(),
        is_only_reported: true,
        declared: None,
        is_installable: false,
        declaring_script: None,
        allowing_rule: None,
        acceptable: Vec::new(),
    })))
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
}
