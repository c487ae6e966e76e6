//! Which sandbox runs programs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{PolicyError, RuleSource, error::Repr};

/// The sandbox for programs.
///
/// ```
/// use skills_policy::SandboxChoice;
///
/// assert_eq!("container".parse::<SandboxChoice>()?, SandboxChoice::Container);
/// assert_eq!(SandboxChoice::Native.to_string(), "native");
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "toml", derive(serde::Deserialize))]
#[cfg_attr(feature = "toml", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum SandboxChoice {
    /// WebAssembly for modules, the operating system for scripts and commands.
    #[default]
    Auto,
    /// The operating system, for scripts and commands. Modules do not run.
    Native,
    /// WebAssembly, for modules. Scripts and commands do not run.
    Wasm,
    /// A container, for scripts and commands. Modules do not run.
    Container,
}

impl SandboxChoice {
    /// All choices.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Native, Self::Wasm, Self::Container];

    /// Returns the choice as one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Wasm => "wasm",
            Self::Container => "container",
        }
    }
}

impl fmt::Display for SandboxChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SandboxChoice {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|choice| choice.as_str() == text);
        known.ok_or_else(|| {
            Repr::Sandbox {
                text: text.to_owned(),
            }
            .into()
        })
    }
}

/// A statement of policy about the sandbox: programs at or below a directory, or all, run in this one
/// or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxRequirement {
    /// The sandbox.
    pub sandbox: SandboxChoice,
    /// The directory; `None` for all.
    pub within: Option<PathBuf>,
    /// The source of the statement.
    pub source: RuleSource,
    /// The file, or another origin.
    pub origin: String,
}

impl fmt::Display for SandboxRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sandbox {}", self.sandbox)?;
        if let Some(within) = &self.within {
            write!(f, " within {}", within.display())?;
        }
        write!(f, " ({}, {})", self.source, self.origin)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Policy;

    fn requirement(sandbox: SandboxChoice, within: Option<&str>) -> SandboxRequirement {
        SandboxRequirement {
            sandbox,
            within: within.map(PathBuf::from),
            source: RuleSource::Admin,
            origin: "policy.toml".to_owned(),
        }
    }

    #[test]
    fn a_requirement_applies_within_its_directory_and_is_never_weakened() {
        use SandboxChoice::{Auto, Container, Native, Wasm};
        let policy = Policy::default()
            .require_sandbox(requirement(Container, Some("/skills/pdf")))
            .require_sandbox(requirement(Auto, None));
        let select = |directory: &str, preferred| {
            let selected = policy.select_sandbox(Path::new(directory), preferred);
            selected.map_err(ToString::to_string)
        };
        assert_eq!(select("/skills/pdf", Auto), Ok(Container));
        assert_eq!(select("/skills/pdf/scripts", Container), Ok(Container));
        assert_eq!(select("/skills/pdf2", Native), Ok(Native));
        for other in [Native, Wasm] {
            assert_eq!(
                select("/skills/pdf", other).unwrap_err(),
                "sandbox container within /skills/pdf (admin, policy.toml)"
            );
        }
        let both = policy.clone().require_sandbox(requirement(Wasm, None));
        assert!(both.select_sandbox(Path::new("/skills/pdf"), Auto).is_err());
        assert_eq!(both.select_sandbox(Path::new("/skills/a"), Auto), Ok(Wasm));
        for choice in SandboxChoice::ALL {
            assert_eq!(choice.to_string().parse::<SandboxChoice>().unwrap(), choice);
        }
        assert!("docker".parse::<SandboxChoice>().is_err());
    }
}
