//! The error of a sandbox: nothing ran.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// An error before the program was started: nothing ran. A failing program is not an error but a
/// [`RunOutput`](crate::RunOutput). [`kind`](Self::kind) is for branching, [`hint`](Self::hint)
/// says what to do about it.
///
/// ```
/// use skills_sandbox::{SandboxErrorKind, SandboxError};
///
/// let error = SandboxError::program_not_found("ruby", "/usr/bin, /bin");
/// assert_eq!(error.kind(), SandboxErrorKind::ProgramNotFound);
/// assert_eq!(error.to_string(), "program `ruby` not found (searched /usr/bin, /bin)");
/// assert_eq!(error.hint(), Some("install the program in one of these directories"));
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SandboxError(#[from] Repr);

impl SandboxError {
    /// Creates the error for a required restriction that is unavailable on this host; `hint` says
    /// how to enable it.
    #[must_use]
    pub fn unavailable(
        restriction: &'static str,
        reason: impl Into<Cow<'static, str>>,
        hint: &'static str,
    ) -> Self {
        Repr::Unavailable {
            restriction,
            reason: reason.into(),
            hint,
        }
        .into()
    }

    /// Creates the error for a script without an interpreter on this host; `hint` says what to
    /// install.
    #[must_use]
    pub fn missing_interpreter(reason: impl Into<Cow<'static, str>>, hint: &'static str) -> Self {
        Self::unavailable(INTERPRETER, reason, hint)
    }

    /// Creates the error for a program that is in none of the directories that are searched on this
    /// host.
    #[must_use]
    pub fn program_not_found(name: &str, directories: &str) -> Self {
        Repr::ProgramNotFound {
            name: name.to_owned(),
            directories: directories.to_owned(),
        }
        .into()
    }

    /// Creates the error of a backend that cannot enforce or provide something in the grants.
    #[must_use]
    pub fn rejected(backend: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Repr::Rejected {
            backend,
            reason: reason.into(),
        }
        .into()
    }

    /// Creates the error for a program that sends requests, if no host is granted. `interface` is what
    /// it requires.
    #[must_use]
    pub fn host_required(backend: &'static str, interface: &'static str) -> Self {
        Repr::HostRequired { backend, interface }.into()
    }

    /// Creates the error of a backend that can run with these grants only if files that may hold keys
    /// are granted too, since it cannot withhold them.
    #[must_use]
    pub fn keys_required(
        backend: &'static str,
        reason: impl Into<Cow<'static, str>>,
        keys: Vec<PathBuf>,
    ) -> Self {
        Repr::KeysRequired {
            backend,
            reason: reason.into(),
            keys,
        }
        .into()
    }

    /// Creates the error for a variable whose value was to be passed without a grant.
    pub(crate) fn variable_not_granted(variable: &str) -> Self {
        Repr::VariableNotGranted {
            variable: variable.to_owned(),
        }
        .into()
    }

    /// Creates the error of a backend that cannot run a program of this form.
    #[must_use]
    pub fn invalid_program(reason: impl Into<Cow<'static, str>>) -> Self {
        Repr::InvalidProgram {
            reason: reason.into(),
        }
        .into()
    }

    /// Creates the error of a backend that cannot run the program, for the typed reason `cause`,
    /// which [`downcast_ref`](Self::downcast_ref) returns.
    #[must_use]
    pub fn invalid_program_from(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Repr::InvalidProgramFrom {
            cause: Box::new(cause),
        }
        .into()
    }

    /// Creates the error for native scripts on an operating system without a backend for them. They
    /// are never run without a sandbox.
    #[must_use]
    pub fn unsupported_platform(os: &'static str) -> Self {
        Repr::UnsupportedPlatform { os }.into()
    }

    /// Creates the error for a system call that failed before the program was started. `step` is a
    /// phrase such as `creating a scratch directory`.
    #[must_use]
    pub fn setup(step: &'static str, source: io::Error) -> Self {
        Repr::Setup { step, source }.into()
    }

    /// Returns the class of the error, for branching.
    #[must_use]
    pub fn kind(&self) -> SandboxErrorKind {
        match &self.0 {
            Repr::Unavailable { .. } => SandboxErrorKind::Unavailable,
            Repr::Rejected { .. }
            | Repr::HostRequired { .. }
            | Repr::KeysRequired { .. }
            | Repr::VariableNotGranted { .. } => SandboxErrorKind::Rejected,
            Repr::ProgramNotFound { .. } => SandboxErrorKind::ProgramNotFound,
            Repr::InvalidProgram { .. } | Repr::InvalidProgramFrom { .. } => {
                SandboxErrorKind::InvalidProgram
            }
            Repr::Setup { .. } => SandboxErrorKind::Setup,
            Repr::UnsupportedPlatform { .. } => SandboxErrorKind::UnsupportedPlatform,
        }
    }

    /// Returns true if the program is a script, and this host has no interpreter that can run it.
    #[must_use]
    pub fn is_missing_interpreter(&self) -> bool {
        matches!(self.0, Repr::Unavailable { restriction, .. } if restriction == INTERPRETER)
    }

    /// Returns true if a grant for a host would let the program start.
    #[must_use]
    pub fn needs_host(&self) -> bool {
        matches!(self.0, Repr::HostRequired { .. })
    }

    /// Returns the files that may hold keys and with which the program would start; empty for other
    /// errors.
    #[must_use]
    pub fn required_keys(&self) -> &[PathBuf] {
        match &self.0 {
            Repr::KeysRequired { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Returns the backend's own error if it has this type: why a program cannot be loaded.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.0 {
            Repr::InvalidProgramFrom { cause } => cause.downcast_ref(),
            _ => None,
        }
    }

    /// Returns what to do about the error, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.0 {
            Repr::Unavailable { hint, .. } => Some(hint),
            Repr::UnsupportedPlatform { .. } => Some(UNSUPPORTED_PLATFORM_HINT),
            Repr::ProgramNotFound { name, .. } if name == "python" => {
                Some("the program is called `python3` on this host")
            }
            Repr::ProgramNotFound { .. } => Some("install the program in one of these directories"),
            _ => None,
        }
    }
}

/// The classes of [`SandboxError`]. New classes may be added; [`code`](Self::code) returns a stable
/// text for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SandboxErrorKind {
    /// A restriction is unavailable on this host.
    Unavailable,
    /// The backend cannot enforce or provide something in the grants.
    Rejected,
    /// The program does not exist on this host.
    ProgramNotFound,
    /// The program cannot be loaded.
    InvalidProgram,
    /// A system call failed before the program was started.
    Setup,
    /// No backend can sandbox the program on this operating system.
    UnsupportedPlatform,
}

impl SandboxErrorKind {
    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unavailable => "sandbox-unavailable",
            Self::Rejected => "sandbox-rejected",
            Self::ProgramNotFound => "program-not-found",
            Self::InvalidProgram => "load",
            Self::Setup => "sandbox-setup",
            Self::UnsupportedPlatform => "unsupported-platform",
        }
    }
}

/// What is unavailable for a script without an interpreter.
const INTERPRETER: &str = "interpreter";

/// What to do if native scripts cannot be sandboxed.
const UNSUPPORTED_PLATFORM_HINT: &str =
    "ship a WebAssembly module (wasm/skill.wasm) with the skill, or use Linux, macOS or WSL2";

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("cannot run in a sandbox: {restriction} is unavailable: {reason}")]
    Unavailable {
        restriction: &'static str,
        reason: Cow<'static, str>,
        hint: &'static str,
    },
    #[error("cannot run the job in the {backend} sandbox: {reason}")]
    Rejected {
        backend: &'static str,
        reason: Cow<'static, str>,
    },
    #[error("cannot run the job in the {backend} sandbox: {reason}")]
    KeysRequired {
        backend: &'static str,
        reason: Cow<'static, str>,
        keys: Vec<PathBuf>,
    },
    #[error(
        "cannot run the job in the {backend} sandbox: the program requires {interface}, but no host is granted"
    )]
    HostRequired {
        backend: &'static str,
        interface: &'static str,
    },
    #[error("program `{}` not found (searched {directories})", .name.escape_debug())]
    ProgramNotFound { name: String, directories: String },
    #[error("variable `{variable}` is not granted")]
    VariableNotGranted { variable: String },
    #[error("cannot load the program: {reason}")]
    InvalidProgram { reason: Cow<'static, str> },
    #[error("cannot load the program: {cause}")]
    InvalidProgramFrom {
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("cannot set up the sandbox: {step}")]
    Setup {
        step: &'static str,
        source: io::Error,
    },
    #[error("native scripts are not supported on {os}")]
    UnsupportedPlatform { os: &'static str },
}
