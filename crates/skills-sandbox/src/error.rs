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
            layer,
            reason: reason.into(),
            hint,
        }
        .into()
    }

    /// There is no program of this name among those of the machine that may be started.
    #[must_use]
    pub fn no_program(name: &str, directories: &str) -> Self {
        Repr::NoProgram {
            name: name.to_owned(),
            directories: directories.to_owned(),
        }
        .into()
    }

    /// The backend cannot enforce, or cannot give, something in the grants.
    #[must_use]
    pub fn refused(backend: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Repr::Refused {
            backend,
            reason: reason.into(),
        }
        .into()
    }

    /// The grants do not name a variable whose value was to be given.
    pub(crate) fn not_granted(variable: &str) -> Self {
        Repr::NotGranted {
            variable: variable.to_owned(),
        }
        .into()
    }

    /// The program is not one that the backend can run.
    #[must_use]
    pub fn load(reason: impl Into<Cow<'static, str>>) -> Self {
        Repr::Load {
            reason: reason.into(),
        }
        .into()
    }

    /// The program is not one that the backend can run, as its own typed error says, which
    /// [`cause`](Self::cause) gives back.
    #[must_use]
    pub fn load_failed(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Repr::LoadFailed {
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
            Repr::Refused { .. } | Repr::NotGranted { .. } => ErrorKind::Refused,
            Repr::NoProgram { .. } => ErrorKind::NoProgram,
            Repr::Load { .. } | Repr::LoadFailed { .. } => ErrorKind::Load,
            Repr::Setup { .. } => ErrorKind::Setup,
            Repr::UnsupportedPlatform { .. } => ErrorKind::UnsupportedPlatform,
        }
    }

    /// Returns the backend's own error, when it is of this type: why a program cannot be loaded.
    #[must_use]
    pub fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.0 {
            Repr::LoadFailed { cause } => cause.downcast_ref(),
            _ => None,
        }
    }

    /// Returns what to do about it, when that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.0 {
            Repr::Unavailable { hint, .. } => Some(hint),
            Repr::UnsupportedPlatform { .. } => Some(ELSEWHERE),
            Repr::NoProgram { name, .. } if name == "python" => Some("it is called `python3` here"),
            Repr::NoProgram { .. } => Some("install it there, or use another"),
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
    Refused,
    /// The machine has no such program.
    NoProgram,
    /// The program cannot be loaded.
    Load,
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
            Self::Refused => "sandbox-refused",
            Self::NoProgram => "no-program",
            Self::Load => "load",
            Self::Setup => "sandbox-setup",
            Self::UnsupportedPlatform => "unsupported-platform",
        }
    }
}

/// What to do where native scripts cannot be confined.
const ELSEWHERE: &str =
    "ship a WebAssembly module (wasm/skill.wasm) with the skill, or run under Linux, macOS or WSL2";

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error("no sandbox: {layer} is not available ({reason}); {hint}")]
    Unavailable {
        layer: &'static str,
        reason: Cow<'static, str>,
        hint: &'static str,
    },
    #[error("the {backend} sandbox refuses: {reason}")]
    Refused {
        backend: &'static str,
        reason: Cow<'static, str>,
    },
    #[error("there is no program {name:?} in {directories}")]
    NoProgram { name: String, directories: String },
    #[error("the variable {variable} was not granted")]
    NotGranted { variable: String },
    #[error("the program cannot be loaded: {reason}")]
    Load { reason: Cow<'static, str> },
    #[error("the program cannot be loaded: {cause}")]
    LoadFailed {
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the sandbox could not be set up: {step}")]
    Setup {
        step: &'static str,
        source: io::Error,
    },
    #[error("this sandbox for native scripts does not work on {os}; {ELSEWHERE}")]
    UnsupportedPlatform { os: &'static str },
}
