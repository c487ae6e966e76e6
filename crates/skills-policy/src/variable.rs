//! Names of environment variables.

use std::fmt;
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// A variable, or all whose names begin alike: `API_KEY`, `AWS_*`, `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariablePattern {
    /// This one.
    Exact(String),
    /// All that begin so; the empty start means all.
    Prefix(String),
}

impl VariablePattern {
    /// Says whether a name fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => name == exact,
            Self::Prefix(start) => name.starts_with(start),
        }
    }
}

impl FromStr for VariablePattern {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let is_part = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match text.strip_suffix('*') {
            Some(start) if is_part(start) => Ok(Self::Prefix(start.to_owned())),
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
            Self::Prefix(start) => write!(f, "{start}*"),
        }
    }
}

/// Says whether a text is a name that every shell and language can read: letters, digits and `_`,
/// no digit first, at most 128 bytes.
#[must_use]
pub fn is_variable_name(name: &str) -> bool {
    let inside = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    inside && (1..=128).contains(&name.len()) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Says whether whoever sets this variable is known to decide by it what runs, what it loads, whom
/// it talks to or what it believes of its sandbox.
///
/// No program is given such a variable, whoever declares or allows it. Names are compared without
/// regard to case, as some systems do. The list is of what is known; secrets of tools (`NPM_TOKEN`)
/// are no part of it although their other variables are.
#[must_use]
pub fn is_unsafe_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_secret = SECRET_SUFFIXES.iter().any(|end| upper.ends_with(end));
    let is_tools = TOOL_PREFIXES.iter().any(|start| upper.starts_with(start))
        && !is_secret
        && upper != "NODE_ENV";
    let is_paths = ["_PROXY", "PAGER", "_CA_BUNDLE", "_CERT_FILE", "_RSH"]
        .iter()
        .any(|end| upper.ends_with(end));
    UNSAFE_NAMES.contains(&upper.as_str())
        || UNSAFE_PREFIXES.iter().any(|start| upper.starts_with(start))
        || is_tools
        || is_paths
}

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
    // Programs that others start.
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
    // Whom one believes.
    "OPENSSL_CONF",
    "SSLKEYLOGFILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    // Where things are.
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

/// Whatever begins so.
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
    "XDG_",
];

/// Whatever begins so and is no secret.
const TOOL_PREFIXES: &[&str] = &[
    "CONDA_", "PIP_", "UV_", "POETRY_", "NODE_", "NPM_", "YARN_", "DENO_", "BUN_", "RUBY", "GEM_",
    "BUNDLE_", "GIT_", "CARGO_", "RUSTC", "RUSTUP_", "GOFLAGS", "GOPATH", "GOROOT", "GOPROXY",
    "GOTOOL", "GOENV", "DOTNET_", "COMPLUS_", "CORECLR_", "OPENSSL_", "ERL_", "R_LIBS", "MAVEN_",
    "GRADLE_", "RSYNC_",
];

/// How names of secrets end.
const SECRET_SUFFIXES: &[&str] = &["_TOKEN", "_KEY", "_SECRET", "_PASSWORD"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_change_what_runs() {
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
    fn patterns_fit_names() {
        let fits =
            |pattern: &str, name: &str| pattern.parse::<VariablePattern>().unwrap().matches(name);
        assert!(
            fits("AWS_*", "AWS_REGION") && fits("*", "X") && fits("A", "A") && !fits("A", "AB")
        );
        for wrong in ["", "A-B", "A-*", "A**", "*A", "A*B", "A=B", "1A", "A\nB"] {
            assert!(wrong.parse::<VariablePattern>().is_err(), "{wrong}");
        }
    }
}
