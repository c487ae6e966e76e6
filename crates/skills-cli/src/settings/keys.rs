//! The keys of a settings file and their values.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use skills_runtime::policy::HostPattern;
use skills_runtime::{ResourceLimits, SandboxChoice, ScriptType};
use toml_edit::{Document, Item, TableLike};

use crate::interpreters::InterpreterArg;
use crate::permission::similar;

/// Maximum of `--memory` and `--scratch` and of their settings, in MiB.
pub(crate) const MAX_MIB: u64 = 2048;
/// Start of a path in the home directory.
pub(crate) const HOME_PREFIX: &str = "~/";
/// The keys with what they mean, as `skills config` lists them.
pub(crate) const KEYS: [(&str, &str); 26] = [
    ("workspace", "directory that programs work on"),
    ("timeout-seconds", "deadline of a run, at most 600"),
    ("memory-mib", "memory of a run, at most 2048"),
    ("hooks", "true to run the approved hooks of skills"),
    ("env-files", "list of .env files"),
    ("roots", "list of directories to search in addition"),
    ("usage-ledger", "false to record no use of skills"),
    (
        "trusted-projects",
        "list of projects whose skills, settings and policy are used",
    ),
    (
        "packages",
        "`ask` to install packages that skills declare once you agree, `ignore` for never",
    ),
    ("python-index", "URL of the index of Python packages"),
    ("npm-registry", "URL of the registry of Node packages"),
    (
        "package-hosts",
        "list of further hosts that files of packages are from",
    ),
    (
        "private-sources",
        "list of hosts, each with or without a port, whose private addresses skills may be installed from",
    ),
    ("clawhub-registry", "URL of the registry of `clawhub:SLUG`"),
    (
        "package-builds",
        "true to build packages from source in the sandbox",
    ),
    (
        "sandbox",
        "`auto`, `native`, `wasm` or `container`, for programs of all skills",
    ),
    (
        "container-image",
        "image of containers, by its digest: `NAME@sha256:DIGEST`",
    ),
    (
        "container-socket",
        "socket of Docker or Podman, by default the first that exists",
    ),
    (
        "container-runtime",
        "OCI runtime of containers, such as `runsc`",
    ),
    (
        "container-keep-seconds",
        "how long a server keeps containers for further runs, at most 3600",
    ),
    (
        "interpreters.KIND",
        "interpreter for python, shell, node, deno, ruby or perl",
    ),
    ("skills.NAME.enabled", "true or false"),
    ("skills.NAME.pin", "true to list the skill first"),
    (
        "skills.NAME.sandbox",
        "sandbox for programs of one skill, as `sandbox`",
    ),
    (
        "skills.NAME.packages",
        "list of packages for a skill that does not declare them: `pypdf>=4`, `npm:left-pad@1`",
    ),
    (
        "skills.NAME.interpreters.KIND",
        "interpreter for the scripts of one skill",
    ),
];
/// The keys at the top of a file.
const TOP: [&str; 22] = [
    "workspace",
    "timeout-seconds",
    "memory-mib",
    "hooks",
    "env-files",
    "roots",
    "usage-ledger",
    "trusted-projects",
    "packages",
    "python-index",
    "npm-registry",
    "package-hosts",
    "package-builds",
    "private-sources",
    "clawhub-registry",
    "sandbox",
    "container-image",
    "container-socket",
    "container-runtime",
    "container-keep-seconds",
    "interpreters",
    "skills",
];
/// The values of `packages`.
const PACKAGE_MODES: [&str; 2] = ["ask", "ignore"];
/// The keys of a skill.
const OF_SKILL: [&str; 5] = ["enabled", "pin", "sandbox", "packages", "interpreters"];
/// The longest time for which a container is kept, in seconds.
const MAX_KEEP_SECONDS: u64 = 3_600;

/// A key that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingKey {
    Workspace,
    Timeout,
    Memory,
    Hooks,
    EnvFiles,
    Roots,
    UsageLedger,
    TrustedProjects,
    Packages,
    PythonIndex,
    NpmRegistry,
    PackageHosts,
    PackageBuilds,
    PrivateSources,
    ClawHubRegistry,
    Sandbox,
    ContainerImage,
    ContainerSocket,
    ContainerRuntime,
    ContainerKeep,
    Interpreter(ScriptType),
    SkillEnabled(String),
    SkillPinned(String),
    SkillSandbox(String),
    SkillPackages(String),
    SkillInterpreter(String, ScriptType),
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingValue {
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    /// A URL, or one of several words.
    Text(String),
    Texts(Vec<String>),
    /// Seconds of a timeout, MiB of memory.
    Number(u64),
    /// Whether hooks run, use is recorded, or a skill is enabled or pinned.
    Switch(bool),
}

/// The settings of one file.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub(super) values: Vec<(SettingKey, SettingValue)>,
    pub(super) problems: Vec<FileProblem>,
}

/// An unknown key or an invalid value.
#[derive(Debug)]
pub(super) struct FileProblem {
    /// The tables and the name of the key.
    pub(super) key: Vec<String>,
    /// The problem, with file and line.
    pub(super) message: String,
    /// The problem alone.
    pub(super) cause: String,
}

/// The directories that paths in a settings file refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseDirs<'a> {
    /// The directory of relative paths.
    pub(super) base: &'a Path,
    /// The directory of `~/`, if it is known.
    pub(super) home: Option<&'a Path>,
}

impl BaseDirs<'_> {
    pub(super) fn resolve(self, text: &str) -> Result<PathBuf, &'static str> {
        let in_home = if text == "~" {
            Some("")
        } else {
            text.strip_prefix(HOME_PREFIX)
        };
        match (in_home, self.home) {
            (None, _) => Ok(self.base.join(text)),
            (Some(path), Some(home)) => Ok(home.join(path)),
            (Some(_), None) => Err("cannot resolve `~` without a home directory"),
        }
    }
}

impl SettingKey {
    /// Parses a key; the error describes the problem.
    pub(crate) fn parse(parts: &[&str]) -> Result<Self, String> {
        Ok(match parts {
            ["workspace"] => Self::Workspace,
            ["timeout-seconds"] => Self::Timeout,
            ["memory-mib"] => Self::Memory,
            ["hooks"] => Self::Hooks,
            ["env-files"] => Self::EnvFiles,
            ["roots"] => Self::Roots,
            ["usage-ledger"] => Self::UsageLedger,
            ["trusted-projects"] => Self::TrustedProjects,
            ["packages"] => Self::Packages,
            ["python-index"] => Self::PythonIndex,
            ["npm-registry"] => Self::NpmRegistry,
            ["package-hosts"] => Self::PackageHosts,
            ["package-builds"] => Self::PackageBuilds,
            ["private-sources"] => Self::PrivateSources,
            ["clawhub-registry"] => Self::ClawHubRegistry,
            ["sandbox"] => Self::Sandbox,
            ["container-image"] => Self::ContainerImage,
            ["container-socket"] => Self::ContainerSocket,
            ["container-runtime"] => Self::ContainerRuntime,
            ["container-keep-seconds"] => Self::ContainerKeep,
            ["interpreters", kind] => Self::Interpreter(parse_kind(kind)?),
            ["skills", name, "enabled"] => Self::SkillEnabled((*name).to_owned()),
            ["skills", name, "pin"] => Self::SkillPinned((*name).to_owned()),
            ["skills", name, "sandbox"] => Self::SkillSandbox((*name).to_owned()),
            ["skills", name, "packages"] => Self::SkillPackages((*name).to_owned()),
            ["skills", name, "interpreters", kind] => {
                Self::SkillInterpreter((*name).to_owned(), parse_kind(kind)?)
            }
            ["skills", _, other, ..] => return Err(unknown(other, &OF_SKILL)),
            [table @ ("interpreters" | "skills")] => {
                return Err(format!("`{table}` is a table, not a value"));
            }
            [other, ..] => return Err(unknown(other, &TOP)),
            [] => return Err("empty key".to_owned()),
        })
    }

    /// Returns the key of an interpreter.
    pub(crate) fn of_interpreter(chosen: &InterpreterArg) -> Self {
        match &chosen.skill {
            None => Self::Interpreter(chosen.kind),
            Some(skill) => Self::SkillInterpreter(skill.clone(), chosen.kind),
        }
    }

    /// Parses a dotted key of the command line. Names of skills can contain dots.
    pub(crate) fn parse_dotted(text: &str) -> Result<Self, String> {
        let of_skill = text.strip_prefix("skills.").unwrap_or_default();
        let value = of_skill
            .rsplit_once('.')
            .filter(|(_, key)| OF_SKILL.contains(key) && *key != "interpreters");
        if let Some((name, key)) = value {
            return Self::parse(&["skills", name, key]);
        }
        if let Some((name, kind)) = of_skill.rsplit_once(".interpreters.") {
            return Self::parse(&["skills", name, "interpreters", kind]);
        }
        Self::parse(&text.split('.').collect::<Vec<_>>())
    }

    /// Returns true for a key that has no effect in a project: a repository could otherwise trust itself,
    /// or select a weaker sandbox than its user.
    pub(super) fn is_of_user(&self) -> bool {
        matches!(
            self,
            Self::TrustedProjects
                | Self::PrivateSources
                | Self::ClawHubRegistry
                | Self::Sandbox
                | Self::SkillSandbox(_)
                | Self::ContainerImage
                | Self::ContainerSocket
                | Self::ContainerRuntime
                | Self::ContainerKeep
        )
    }

    /// Returns true if the value is the path of an interpreter.
    pub(crate) fn is_interpreter(&self) -> bool {
        matches!(self, Self::Interpreter(_) | Self::SkillInterpreter(..))
    }

    /// Returns the tables and the name of the key.
    pub(crate) fn path(&self) -> Vec<String> {
        let parts: &[&str] = match self {
            Self::Workspace => &["workspace"],
            Self::Timeout => &["timeout-seconds"],
            Self::Memory => &["memory-mib"],
            Self::Hooks => &["hooks"],
            Self::EnvFiles => &["env-files"],
            Self::Roots => &["roots"],
            Self::UsageLedger => &["usage-ledger"],
            Self::TrustedProjects => &["trusted-projects"],
            Self::Packages => &["packages"],
            Self::PythonIndex => &["python-index"],
            Self::NpmRegistry => &["npm-registry"],
            Self::PackageHosts => &["package-hosts"],
            Self::PackageBuilds => &["package-builds"],
            Self::PrivateSources => &["private-sources"],
            Self::ClawHubRegistry => &["clawhub-registry"],
            Self::Sandbox => &["sandbox"],
            Self::ContainerImage => &["container-image"],
            Self::ContainerSocket => &["container-socket"],
            Self::ContainerRuntime => &["container-runtime"],
            Self::ContainerKeep => &["container-keep-seconds"],
            Self::Interpreter(kind) => &["interpreters", kind.as_str()],
            Self::SkillSandbox(name) => &["skills", name, "sandbox"],
            Self::SkillEnabled(name) => &["skills", name, "enabled"],
            Self::SkillPinned(name) => &["skills", name, "pin"],
            Self::SkillPackages(name) => &["skills", name, "packages"],
            Self::SkillInterpreter(name, kind) => &["skills", name, "interpreters", kind.as_str()],
        };
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    /// Converts the value of a TOML file.
    fn parse_item(
        &self,
        item: &Item,
        directories: BaseDirs,
    ) -> Result<SettingValue, Cow<'static, str>> {
        let path = |text: &str| directories.resolve(text);
        match self {
            Self::Workspace
            | Self::ContainerSocket
            | Self::Interpreter(_)
            | Self::SkillInterpreter(..) => {
                let text = item.as_str().ok_or("expected a path")?;
                Ok(SettingValue::Path(path(text)?))
            }
            Self::EnvFiles | Self::Roots | Self::TrustedProjects => {
                const EXPECTED: &str = "expected a list of paths";
                let texts = item.as_array().ok_or(EXPECTED)?.iter();
                let paths: Result<Vec<PathBuf>, _> = texts
                    .map(|text| path(text.as_str().ok_or(EXPECTED)?))
                    .collect();
                Ok(SettingValue::Paths(paths?))
            }
            Self::Timeout => {
                const EXPECTED: &str = "expected 1 to 600 seconds";
                let seconds = item
                    .as_integer()
                    .and_then(|number| u64::try_from(number).ok());
                let max = ResourceLimits::default_ceiling().wall_time.as_secs();
                let seconds = seconds.filter(|seconds| (1..=max).contains(seconds));
                Ok(SettingValue::Number(seconds.ok_or(EXPECTED)?))
            }
            Self::ContainerKeep => {
                const EXPECTED: &str = "expected 0 to 3600 seconds";
                let seconds = item
                    .as_integer()
                    .and_then(|number| u64::try_from(number).ok());
                let seconds = seconds.filter(|seconds| *seconds <= MAX_KEEP_SECONDS);
                Ok(SettingValue::Number(seconds.ok_or(EXPECTED)?))
            }
            Self::Sandbox | Self::SkillSandbox(_) => {
                let word = item.as_str().ok_or("expected the name of a sandbox")?;
                let choice = word.parse::<SandboxChoice>();
                choice.map_err(|error| error.to_string())?;
                Ok(SettingValue::Text(word.to_owned()))
            }
            Self::ContainerImage => {
                let text = item.as_str().ok_or("expected an image")?;
                crate::containers::check_image(text)?;
                Ok(SettingValue::Text(text.to_owned()))
            }
            Self::ContainerRuntime => {
                let name = item.as_str().filter(|name| !name.is_empty());
                let name = name.ok_or("expected the name of a runtime")?;
                Ok(SettingValue::Text(name.to_owned()))
            }
            Self::Memory => {
                const EXPECTED: &str = "expected 1 to 2048 MiB";
                let mib = item
                    .as_integer()
                    .and_then(|number| u64::try_from(number).ok());
                let mib = mib.filter(|mib| (1..=MAX_MIB).contains(mib));
                Ok(SettingValue::Number(mib.ok_or(EXPECTED)?))
            }
            Self::Packages => {
                let word = item.as_str().filter(|word| PACKAGE_MODES.contains(word));
                let word = word.ok_or("expected `ask` or `ignore`")?;
                Ok(SettingValue::Text(word.to_owned()))
            }
            Self::PythonIndex | Self::NpmRegistry => {
                const EXPECTED: &str =
                    "expected a URL without credentials, such as https://pypi.org/simple";
                let url = item.as_str().filter(|url| is_index_url(url));
                Ok(SettingValue::Text(url.ok_or(EXPECTED)?.to_owned()))
            }
            Self::ClawHubRegistry => {
                const EXPECTED: &str =
                    "expected a URL without credentials, such as https://clawhub.ai";
                let url = item.as_str().filter(|url| is_index_url(url));
                Ok(SettingValue::Text(url.ok_or(EXPECTED)?.to_owned()))
            }
            Self::SkillPackages(_) => {
                const EXPECTED: &str = "expected a list of packages, such as pypdf>=4";
                let texts = item.as_array().ok_or(EXPECTED)?.iter();
                let packages: Option<Vec<String>> =
                    texts.map(|text| text.as_str().map(str::to_owned)).collect();
                let packages = packages.ok_or(EXPECTED)?;
                packages.iter().try_for_each(|text| check_package(text))?;
                Ok(SettingValue::Texts(packages))
            }
            Self::PackageHosts => {
                const EXPECTED: &str = "expected a list of hosts, such as files.example.com";
                let texts = item.as_array().ok_or(EXPECTED)?.iter();
                let hosts: Option<Vec<String>> =
                    texts.map(|text| text.as_str().map(str::to_owned)).collect();
                let hosts = hosts
                    .filter(|hosts| hosts.iter().all(|host| host.parse::<HostPattern>().is_ok()));
                Ok(SettingValue::Texts(hosts.ok_or(EXPECTED)?))
            }
            Self::PrivateSources => {
                const EXPECTED: &str =
                    "expected a list of HOST or HOST:PORT, such as git.acme.example";
                let texts = item.as_array().ok_or(EXPECTED)?.iter();
                let hosts: Option<Vec<String>> =
                    texts.map(|text| text.as_str().map(str::to_owned)).collect();
                let hosts = hosts.filter(|hosts| hosts.iter().all(|host| is_private_host(host)));
                Ok(SettingValue::Texts(hosts.ok_or(EXPECTED)?))
            }
            Self::Hooks
            | Self::PackageBuilds
            | Self::UsageLedger
            | Self::SkillEnabled(_)
            | Self::SkillPinned(_) => {
                let is_enabled = item.as_bool().ok_or("expected true or false")?;
                Ok(SettingValue::Switch(is_enabled))
            }
        }
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path().join("."))
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Paths(paths) => {
                let shown: Vec<String> = paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                f.write_str(&shown.join(", "))
            }
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => f.write_str(&texts.join(", ")),
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(is_on) => write!(f, "{is_on}"),
        }
    }
}

impl FileSettings {
    /// Parses a file. Unknown keys and invalid values are problems, not errors: a file of a later
    /// version still applies.
    ///
    /// # Errors
    /// Fails if the text is not TOML, with the line.
    pub(super) fn parse(text: &str, path: &Path, directories: BaseDirs) -> Result<Self, String> {
        let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let document = Document::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(span.start));
            format!("{}:{line}: {}", path.display(), error.message())
        })?;
        let mut settings = Self::default();
        for (parts, offset, item) in leaves(document.as_table()) {
            let names: Vec<&str> = parts.iter().map(String::as_str).collect();
            let parsed = SettingKey::parse(&names).and_then(|key| {
                let value = key.parse_item(item, directories);
                let value = value.map_err(|expected| format!("invalid `{key}`: {expected}"))?;
                Ok((key, value))
            });
            match parsed {
                Ok(value) => settings.values.push(value),
                Err(cause) => {
                    let line = line_at(offset);
                    settings.problems.push(FileProblem {
                        key: parts,
                        message: format!("{}:{line}: {cause}", path.display()),
                        cause,
                    });
                }
            }
        }
        Ok(settings)
    }
}

/// Returns the keys of a table and of the tables in it that are not tables, each with its position.
fn leaves(table: &dyn TableLike) -> Vec<(Vec<String>, usize, &Item)> {
    let mut all = Vec::new();
    for (name, item) in table.iter() {
        let span = table.key(name).and_then(toml_edit::Key::span);
        let offset = span.or_else(|| item.span()).map_or(0, |span| span.start);
        match item.as_table_like() {
            Some(below) => {
                all.extend(leaves(below).into_iter().map(|(mut parts, offset, item)| {
                    parts.insert(0, name.to_owned());
                    (parts, offset, item)
                }))
            }
            None => all.push((vec![name.to_owned()], offset, item)),
        }
    }
    all
}

/// Checks a package of `skills.NAME.packages`.
#[cfg(all(feature = "packages", unix))]
fn check_package(text: &str) -> Result<(), String> {
    let parsed = crate::packages::parse_package(text);
    parsed.map(|_| ()).map_err(|error| error.to_string())
}

/// Accepts every text: nothing is installed.
#[cfg(not(all(feature = "packages", unix)))]
fn check_package(_text: &str) -> Result<(), String> {
    Ok(())
}

/// Returns true for an entry of `private-sources`.
#[cfg(feature = "install")]
fn is_private_host(text: &str) -> bool {
    text.parse::<skills_install::PrivateHost>().is_ok()
}

/// Accepts every text: nothing is fetched.
#[cfg(not(feature = "install"))]
fn is_private_host(_text: &str) -> bool {
    true
}

/// Returns true for the URL of an index. Programs of a setup could read credentials in it.
pub(crate) fn is_index_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('@') && rest.chars().all(is_plain))
}

fn parse_kind(name: &str) -> Result<ScriptType, String> {
    let kinds = ScriptType::ALL.map(ScriptType::as_str);
    let known = ScriptType::ALL
        .into_iter()
        .find(|kind| kind.as_str() == name);
    known.ok_or_else(|| unknown(name, &kinds))
}

fn unknown(name: &str, known: &[&'static str]) -> String {
    match similar(name, known) {
        Some(nearest) => format!("unknown key `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{name}`: expected one of {}", known.join(", ")),
    }
}
