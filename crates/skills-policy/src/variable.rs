//! Names of environment variables.

use std::fmt;
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// A pattern of variable names: `API_KEY`, `AWS_*` or `*`.
///
/// Names are compared with case. [Unsafe](is_unsafe_variable) variables match as well, but are
/// never granted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariablePattern {
    /// The variable with this name.
    Exact(String),
    /// All variables whose names begin with this; all variables if it is empty.
    Prefix(String),
}

impl VariablePattern {
    /// Returns true if a name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => name == exact,
            Self::Prefix(prefix) => name.starts_with(prefix),
        }
    }
}

impl FromStr for VariablePattern {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text.strip_suffix('*') {
            // Otherwise no variable begins with it.
            Some(prefix) if prefix.is_empty() || is_variable_name(prefix) => {
                Ok(Self::Prefix(prefix.to_owned()))
            }
            None if is_variable_name(text) => Ok(Self::Exact(text.to_owned())),
            _ => Err(Repr::Variable {
                text: text.to_owned(),
            }
            .into()),
        }
    }
}

impl fmt::Display for VariablePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// Returns true if a text is a portable variable name: ASCII letters, digits and `_`, not beginning
/// with a digit, at most 128 bytes.
#[must_use]
pub fn is_variable_name(name: &str) -> bool {
    let has_valid_chars = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    has_valid_chars
        && (1..=128).contains(&name.len())
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true for variables known to change which code runs, what it loads, which hosts are
/// trusted or contacted, or what it knows about its sandbox (`LD_PRELOAD`, `PATH`, `HTTPS_PROXY`).
///
/// No program gets such a variable, whatever rules allow. Case is ignored, as on some systems. The
/// list contains what is known and cannot be complete; secrets of tools (`NPM_TOKEN`) are exempt,
/// although the other variables of these tools are included.
///
/// ```
/// use skills_policy::is_unsafe_variable;
///
/// assert!(is_unsafe_variable("LD_PRELOAD") && is_unsafe_variable("https_proxy"));
/// assert!(is_unsafe_variable("NPM_CONFIG_REGISTRY") && !is_unsafe_variable("NPM_TOKEN"));
/// ```
#[must_use]
pub fn is_unsafe_variable(name: &str) -> bool {
    // Proxy variables are lowercase by convention, and Windows ignores case.
    let upper = name.to_ascii_uppercase();
    let is_secret = SECRET_SUFFIXES.iter().any(|suffix| upper.ends_with(suffix));
    let configures_tool = TOOL_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        && !is_secret
        // Selects a configuration of the program and loads no code.
        && upper != "NODE_ENV";
    // Conventions that many programs follow under names of their own.
    let has_unsafe_suffix = ["_PROXY", "PAGER", "_CA_BUNDLE", "_CERT_FILE", "_RSH"]
        .iter()
        .any(|suffix| upper.ends_with(suffix));
    UNSAFE_NAMES.contains(&upper.as_str())
        || UNSAFE_PREFIXES
            .iter()
            .any(|prefix| upper.starts_with(prefix))
        || configures_tool
        || has_unsafe_suffix
}

/// Unsafe variables by name.
const UNSAFE_NAMES: &[&str] = &[
    // Shells.
    "PATH",
    "HOME",
    "SHELL",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "PROMPT_COMMAND",
    "PS4",
    "ZDOTDIR",
    "FPATH",
    // Loaders and the C library.
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCPATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TZDIR",
    // Languages.
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_PATH",
    "LUA_CPATH",
    "LUA_INIT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "TCLLIBPATH",
    "VIRTUAL_ENV",
    // Programs and services that other programs use.
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "MAKEFLAGS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    // Certificates and keys.
    "OPENSSL_CONF",
    "SSLKEYLOGFILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    // Directories, terminals and the run itself.
    "TMPDIR",
    "TMP",
    "TEMP",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TERMCAP",
    "PWD",
    "OLDPWD",
    "TIMEOUT_MS",
];

/// Variables with these prefixes are unsafe.
const UNSAFE_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "MALLOC_",
    "PYTHON",
    "PERL5",
    "BASH_FUNC_",
    "BASH_LOADABLES",
    "SSL_CERT_",
    "SKILL_",
    // Of the command itself, such as the token of its server.
    "SKILLS_",
    "XDG_",
];

/// Variables with these prefixes configure tools; they are unsafe unless they are secrets.
const TOOL_PREFIXES: &[&str] = &[
    "CONDA_", "PIP_", "UV_", "POETRY_", "NODE_", "NPM_", "YARN_", "DENO_", "BUN_", "RUBY", "GEM_",
    "BUNDLE_", "GIT_", "CARGO_", "RUSTC", "RUSTUP_", "GOFLAGS", "GOPATH", "GOROOT", "GOPROXY",
    "GOTOOL", "GOENV", "DOTNET_", "COMPLUS_", "CORECLR_", "OPENSSL_", "ERL_", "R_LIBS", "MAVEN_",
    "GRADLE_", "RSYNC_",
];

/// Suffixes of secrets.
const SECRET_SUFFIXES: &[&str] = &["_TOKEN", "_KEY", "_SECRET", "_PASSWORD"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_change_execution_are_unsafe() {
        for name in [
            "PATH",
            "path",
            "LD_PRELOAD",
            "Dyld_Insert_Libraries",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "BASH_ENV",
            "https_proxy",
            "SKILL_INPUT",
            "GOPROXY",
            "MANPAGER",
            "BASH_LOADABLES_PATH",
            "OPENSSL_MODULES",
            "AWS_CA_BUNDLE",
            "SKILLS_MCP_TOKEN",
        ] {
            assert!(is_unsafe_variable(name), "{name}");
        }
        for name in [
            "API_KEY",
            "OPENAI_API_KEY",
            "WEATHER_TOKEN",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PATHOLOGY",
            "NPM_TOKEN",
            "NODE_ENV",
            "GIT_TOKEN",
        ] {
            assert!(!is_unsafe_variable(name), "{name}");
        }
    }

    #[test]
    fn patterns_match_names() {
        let matches =
            |pattern: &str, name: &str| pattern.parse::<VariablePattern>().unwrap().matches(name);
        assert!(
            matches("AWS_*", "AWS_REGION")
                && matches("*", "X")
                && matches("A", "A")
                && !matches("A", "AB")
        );
        for invalid in [
            "", "A-B", "A-*", "A**", "*A", "A*B", "A=B", "1A", "1A*", "A\nB",
        ] {
            assert!(invalid.parse::<VariablePattern>().is_err(), "{invalid}");
        }
    }
}
