//! The one error of a sandbox: nothing ran.

use std::borrow::Cow;
use std::io;

/// Says why nothing ran. The program was not started.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SandboxError(#[from] Repr);

impl SandboxError {
    /// A wall that the job needs cannot be had here; `hint` says how to get it.
    #[must_use]
    pub fn unavailable(
        layer: &'static str,
        reason: impl Into<Cow<'static, str>>,
        hint: &'static str,
    ) -> Self {
        Repr::Unavailable {
            restriction: layer,
            reason: reason.into(),
            hint,
        }
        .into()
    }

    /// There is no program of this name among those of the machine that may be started.
    #[must_use]
    pub fn program_not_found(name: &str, directories: &str) -> Self {
        Repr::ProgramNotFound {
            name: name.to_owned(),
            directories: directories.to_owned(),
        }
        .into()
    }

    /// The backend cannot enforce, or cannot give, something in the grants.
    #[must_use]
    pub fn rejected(backend: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Repr::Rejected {
            backend,
            reason: reason.into(),
        }
        .into()
    }

    /// The grants do not name a variable whose value was to be given.
    pub(crate) fn variable_not_granted(variable: &str) -> Self {
        Repr::VariableNotGranted {
            variable: variable.to_owned(),
        }
        .into()
    }

    /// The program is not one that the backend can run.
    #[must_use]
    pub fn invalid_program(reason: impl Into<Cow<'static, str>>) -> Self {
        Repr::InvalidProgram {
            reason: reason.into(),
        }
        .into()
    }

    /// The program is not one that the backend can run, as its own typed error says, which
    /// [`cause`](Self::downcast_ref) gives back.
    #[must_use]
    pub fn invalid_program_from(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Repr::InvalidProgramFrom {
            cause: Box::new(cause),
        }
        .into()
    }

    /// Native scripts cannot be confined on this operating system; there is no way to run them all
    /// the same.
    #[must_use]
    pub fn unsupported_platform(os: &'static str) -> Self {
        Repr::UnsupportedPlatform { os }.into()
    }

    /// The operating system refused something before the program was started.
    #[must_use]
    pub fn setup(step: &'static str, source: io::Error) -> Self {
        Repr::Setup { step, source }.into()
    }

    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            Repr::Unavailable { .. } => ErrorKind::Unavailable,
            Repr::Rejected { .. } | Repr::VariableNotGranted { .. } => ErrorKind::Rejected,
            Repr::ProgramNotFound { .. } => ErrorKind::ProgramNotFound,
            Repr::InvalidProgram { .. } | Repr::InvalidProgramFrom { .. } => {
                ErrorKind::InvalidProgram
            }
            Repr::Setup { .. } => ErrorKind::Setup,
            Repr::UnsupportedPlatform { .. } => ErrorKind::UnsupportedPlatform,
        }
    }

    /// Returns the backend's own error, when it is of this type: why a program cannot be loaded.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.0 {
            Repr::InvalidProgramFrom { cause } => cause.downcast_ref(),
            _ => None,
        }
    }

    /// Returns what to do about it, when that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.0 {
            Repr::Unavailable { hint, .. } => Some(hint),
            Repr::UnsupportedPlatform { .. } => Some(UNSUPPORTED_PLATFORM_HINT),
            Repr::ProgramNotFound { name, .. } if name == "python" => {
                Some("it is called `python3` here")
            }
            Repr::ProgramNotFound { .. } => Some("install it there, or use another"),
            _ => None,
        }
    }
}

/// The classes of [`SandboxError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A wall is missing on this machine.
    Unavailable,
    /// The grants ask for something this backend cannot enforce or give.
    Rejected,
    /// The machine has no such program.
    ProgramNotFound,
    /// The program cannot be loaded.
    InvalidProgram,
    /// Something failed before the program was started.
    Setup,
    /// Nothing on this operating system could confine the program.
    UnsupportedPlatform,
}

impl ErrorKind {
    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unavailable => "sandbox-unavailable",
            Self::Rejected => "sandbox-refused",
            Self::ProgramNotFound => "no-program",
            Self::InvalidProgram => "load",
            Self::Setup => "sandbox-setup",
            Self::UnsupportedPlatform => "unsupported-platform",
        }
    }
}

/// What to do where native scripts cannot be confined.
const UNSUPPORTED_PLATFORM_HINT: &str =
    "ship a WebAssembly module (wasm/skill.wasm) with the skill, or run under Linux, macOS or WSL2";

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("no sandbox: {restriction} is not available ({reason}); {hint}")]
    Unavailable {
        restriction: &'static str,
        reason: Cow<'static, str>,
        hint: &'static str,
    },
    #[error("the {backend} sandbox refuses: {reason}")]
    Rejected {
        backend: &'static str,
        reason: Cow<'static, str>,
    },
    #[error("there is no program {name:?} in {directories}")]
    ProgramNotFound { name: String, directories: String },
    #[error("the variable {variable} was not granted")]
    VariableNotGranted { variable: String },
    #[error("the program cannot be loaded: {reason}")]
    InvalidProgram { reason: Cow<'static, str> },
    #[error("the program cannot be loaded: {cause}")]
    InvalidProgramFrom {
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the sandbox could not be set up: {step}")]
    Setup {
        step: &'static str,
        source: io::Error,
    },
    #[error("this sandbox for native scripts does not work on {os}; {UNSUPPORTED_PLATFORM_HINT}")]
    UnsupportedPlatform { os: &'static str },
}
