//! The settings. Each is one value of [`SETTINGS`]: files and `skills config` are read by it, and
//! help, messages and `docs/configuration.md` are written from it.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use skills_runtime::discovery::ConfigRule;
#[cfg(all(feature = "packages", unix))]
use skills_runtime::packages::{InvalidPackage, ListedPackage};
use skills_runtime::policy::HostPattern;
use skills_runtime::{
    ExecutionOptions, ResourceLimits, SandboxChoice, ScriptType, default_memory_bytes,
};

use super::Settings;
use super::keys::{Origin, SettingValue};
use crate::interpreters::InterpreterArg;
use crate::selector::parse_selector;
use crate::words::join_words;

/// Maximum of `--memory` and `--scratch` and of their settings, in MiB.
pub(crate) const MAX_MIB: u64 = 1 << 40;
/// The highest number of seconds, which timers of all systems can count.
pub(crate) const MAX_SECONDS: u64 = 1_000_000_000;
/// How long a program may go on by default after it was asked to end.
pub(crate) const DEFAULT_GRACE: Duration = Duration::from_secs(2);
/// The projects that the user trusts.
pub(crate) const TRUSTED_PROJECTS: &str = "trusted-projects";
/// The variable that switches the usage ledger on or off.
pub(crate) const LEDGER_VARIABLE: &str = "SKILLS_LEDGER";
/// The variable by which clients of Docker find the engine; only `unix://` is used.
pub(crate) const ENGINE_VARIABLE: &str = "DOCKER_HOST";

/// The definition of a setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The dotted key. `NAME` is a skill and `KIND` a type of scripts.
    pub(crate) name: &'static str,
    /// The description, in which `{…}` is generated.
    meaning: &'static str,
    /// The option of the command line that takes precedence, or adds to it.
    option: Option<&'static str>,
    /// Variables of the environment. If no file sets a setting that is a text, the first variable
    /// with a valid value does.
    pub(super) variables: &'static [&'static str],
    pub(super) in_project: InProject,
    pub(crate) kind: Kind,
}

/// The effect of a setting in a file of a project.
#[derive(Debug)]
pub(super) enum InProject {
    /// It applies if the project is trusted.
    IfTrusted,
    /// Without trust it applies if the function returns true: the value only restricts.
    Restricts(fn(&Settings, &SettingValue) -> bool),
    /// Nothing: a repository could otherwise trust itself, or select a weaker sandbox than its
    /// user.
    NoEffect,
}

/// The type of a value, and how it is set.
#[derive(Debug)]
pub(crate) enum Kind {
    Path(fn(&mut Settings, Origin<'_>, PathBuf)),
    Paths(fn(&mut Settings) -> &mut Vec<PathBuf>),
    /// A URL, or one of several words.
    Text(Check, fn(&mut Settings, Origin<'_>, String)),
    Texts(Check, fn(&mut Settings, Origin<'_>, Vec<String>)),
    /// A number in a unit.
    Number(RangeInclusive<u64>, &'static str, fn(&mut Settings, u64)),
    Switch(fn(&mut Settings, Origin<'_>, bool)),
}

/// Which texts a setting accepts.
#[derive(Debug)]
pub(crate) struct Check {
    expected: &'static str,
    /// Returns an error for a text that is not accepted, which is `None` if `expected` says it all.
    pub(super) check: fn(&str) -> Result<(), Option<String>>,
}

impl Kind {
    /// Returns what a value must be.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Path(_) => "a path".to_owned(),
            Self::Paths(_) => "a list of paths".to_owned(),
            Self::Text(check, _) | Self::Texts(check, _) => check.expected.to_owned(),
            Self::Number(range, unit, _) if *range.end() >= MAX_SECONDS => {
                format!("{} or more {unit}", range.start())
            }
            Self::Number(range, unit, _) => format!("{} to {} {unit}", range.start(), range.end()),
            Self::Switch(_) => "true or false".to_owned(),
        }
    }
}

impl Check {
    const SANDBOX: Self = Self {
        expected: "the name of a sandbox",
        check: |word| described(word.parse::<SandboxChoice>()),
    };

    /// A check for the URL of an index or registry.
    const fn index(expected: &'static str) -> Self {
        Self {
            expected,
            check: |url| accept_if(is_index_url(url)),
        }
    }
}

impl Setting {
    /// A setting of a trusted project, without option and variables.
    const fn new(name: &'static str, meaning: &'static str, kind: Kind) -> Self {
        Self {
            name,
            meaning,
            option: None,
            variables: &[],
            in_project: InProject::IfTrusted,
            kind,
        }
    }

    const fn option(mut self, option: &'static str) -> Self {
        self.option = Some(option);
        self
    }

    const fn variables(mut self, variables: &'static [&'static str]) -> Self {
        self.variables = variables;
        self
    }

    const fn in_project(mut self, in_project: InProject) -> Self {
        self.in_project = in_project;
        self
    }

    /// Returns the description.
    pub(crate) fn meaning(&self) -> String {
        let mut meaning = self.meaning.to_owned();
        if let Kind::Number(range, ..) = &self.kind {
            meaning = meaning.replace("{max}", &range.end().to_string());
        }
        let types = join_words(&ScriptType::ALL.map(ScriptType::as_str), "or");
        let sandboxes = join_words(
            &SandboxChoice::ALL.map(|choice| format!("`{choice}`")),
            "or",
        );
        meaning
            .replace("{types}", &types)
            .replace("{sandboxes}", &sandboxes)
    }
}

/// All settings, in the order in which they are listed.
pub(crate) static SETTINGS: [Setting; 28] = [
    Setting::new(
        "workspace",
        "directory that programs work on",
        Kind::Path(|settings, _, directory| settings.workspace = Some(directory)),
    )
    .option("--workspace"),
    Setting::new(
        "timeout-seconds",
        "deadline of a run",
        Kind::Number(1..=MAX_SECONDS, "seconds", |settings, seconds| {
            settings.timeout_ms = Some(seconds * 1_000);
        }),
    )
    .option("--timeout")
    .in_project(InProject::Restricts(|settings, value| {
        let default = ResourceLimits::default().wall_time.as_millis();
        let limit = settings.timeout_ms.map_or(default, u128::from);
        matches!(value, SettingValue::Number(seconds) if u128::from(seconds * 1_000) <= limit)
    })),
    Setting::new(
        "grace-seconds",
        "how long a program may go on after a signal or its deadline asked it to end, at most {max}",
        Kind::Number(
            0..=ExecutionOptions::MAX_GRACE.as_secs(),
            "seconds",
            |settings, seconds| settings.grace_ms = Some(seconds * 1_000),
        ),
    )
    .option("--grace")
    .in_project(InProject::Restricts(|settings, value| {
        let limit = settings.grace_ms.map_or(DEFAULT_GRACE.as_millis(), u128::from);
        matches!(value, SettingValue::Number(seconds) if u128::from(seconds * 1_000) <= limit)
    })),
    Setting::new(
        "memory-mib",
        "memory of a run",
        Kind::Number(1..=MAX_MIB, "MiB", |settings, mib| {
            settings.memory_mib = Some(mib);
        }),
    )
    .option("--memory")
    .in_project(InProject::Restricts(|settings, value| {
        let default = default_memory_bytes() >> 20;
        matches!(value, SettingValue::Number(mib) if *mib <= settings.memory_mib.unwrap_or(default))
    })),
    Setting::new(
        "hooks",
        "true to run the approved hooks of skills",
        Kind::Switch(|settings, _, is_enabled| settings.hooks = is_enabled),
    )
    .option("--hooks"),
    Setting::new(
        "env-files",
        "list of .env files",
        Kind::Paths(|settings| &mut settings.env_files),
    )
    .option("--env-file"),
    Setting::new(
        "ca-file",
        "certificate authorities in PEM for programs that connect to hosts",
        Kind::Path(|settings, _, path| settings.ca_file = Some(path)),
    )
    .option("--ca-file")
    .in_project(InProject::NoEffect),
    Setting::new(
        "roots",
        "list of directories to search in addition",
        Kind::Paths(|settings| &mut settings.roots),
    )
    .option("--add-root"),
    Setting::new(
        "usage-ledger",
        "false to record no use of skills",
        Kind::Switch(|settings, _, is_on| settings.usage_ledger = Some(is_on)),
    )
    .variables(&[LEDGER_VARIABLE])
    .in_project(InProject::Restricts(is_off)),
    Setting::new(
        TRUSTED_PROJECTS,
        "list of projects whose skills, settings and policy are used",
        Kind::Paths(|settings| &mut settings.trusted_projects),
    )
    .option("--trust-project")
    .in_project(InProject::NoEffect),
    Setting::new(
        "packages",
        "`ask` to install packages that skills declare once you agree, `ignore` for never",
        Kind::Text(
            Check {
                expected: "`ask` or `ignore`",
                check: |word| accept_if(["ask", "ignore"].contains(&word)),
            },
            |settings, _, mode| settings.packages.is_ignored = mode == "ignore",
        ),
    ),
    Setting::new(
        "python-index",
        "URL of the index of Python packages",
        Kind::Text(
            Check::index("a URL without credentials, such as https://pypi.org/simple"),
            |settings, _, url| settings.packages.python_index = Some(url),
        ),
    )
    .variables(&["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"]),
    Setting::new(
        "npm-registry",
        "URL of the registry of Node packages",
        Kind::Text(
            Check::index("a URL without credentials, such as https://registry.npmjs.org"),
            |settings, _, url| settings.packages.npm_registry = Some(url),
        ),
    )
    .variables(&["npm_config_registry", "NPM_CONFIG_REGISTRY"]),
    Setting::new(
        "package-hosts",
        "list of further hosts that files of packages are from",
        Kind::Texts(
            Check {
                expected: "a list of hosts, such as files.example.com",
                check: |host| accept_if(host.parse::<HostPattern>().is_ok()),
            },
            |settings, _, hosts| settings.packages.hosts.extend(hosts),
        ),
    ),
    Setting::new(
        "private-sources",
        "list of hosts, each with or without a port, whose private addresses skills may be installed from",
        Kind::Texts(
            Check {
                expected: "a list of HOST or HOST:PORT, such as git.acme.example",
                check: |host| accept_if(is_private_host(host)),
            },
            |settings, _, hosts| settings.private_sources.extend(hosts),
        ),
    )
    .in_project(InProject::NoEffect),
    Setting::new(
        "clawhub-registry",
        "URL of the registry of `clawhub:SLUG`",
        Kind::Text(
            Check::index("a URL without credentials, such as https://clawhub.ai"),
            |settings, _, url| settings.clawhub_registry = Some(url),
        ),
    )
    .in_project(InProject::NoEffect),
    Setting::new(
        "package-builds",
        "true to build packages from source in the sandbox",
        Kind::Switch(|settings, _, is_allowed| settings.packages.builds = is_allowed),
    ),
    Setting::new(
        "sandbox",
        "{sandboxes}, for programs of all skills",
        Kind::Text(Check::SANDBOX, |settings, _, word| {
            settings.sandbox.choice = word.parse().unwrap_or_default();
        }),
    )
    .option("--sandbox")
    .in_project(InProject::NoEffect),
    Setting::new(
        "container-image",
        "image of containers, by its digest: `NAME@sha256:DIGEST`",
        Kind::Text(
            Check {
                expected: "an image",
                check: check_image,
            },
            |settings, _, image| settings.sandbox.image = Some(image),
        ),
    )
    .in_project(InProject::NoEffect),
    Setting::new(
        "container-socket",
        "socket of Docker or Podman, by default the first that exists",
        Kind::Path(|settings, _, path| settings.sandbox.socket = Some(path)),
    )
    .variables(&[ENGINE_VARIABLE])
    .in_project(InProject::NoEffect),
    Setting::new(
        "container-runtime",
        "OCI runtime of containers, such as `runsc`",
        Kind::Text(
            Check {
                expected: "the name of a runtime",
                check: |name| accept_if(!name.is_empty()),
            },
            |settings, _, name| settings.sandbox.runtime = Some(name),
        ),
    )
    .in_project(InProject::NoEffect),
    Setting::new(
        "container-keep-seconds",
        "how long a server keeps containers for further runs, at most {max}",
        Kind::Number(0..=3_600, "seconds", |settings, seconds| {
            settings.sandbox.keep_seconds = seconds;
        }),
    )
    .in_project(InProject::NoEffect),
    Setting::new(
        "interpreters.KIND",
        "interpreter for {types}",
        Kind::Path(add_interpreter),
    )
    .option("--interpreter"),
    Setting::new(
        "skills.NAME.enabled",
        "false to ignore the skill",
        Kind::Switch(|settings, origin, is_enabled| {
            let source = origin.file.display().to_string();
            let rule = if is_enabled {
                ConfigRule::enable
            } else {
                ConfigRule::disable
            };
            let rule = rule(parse_selector(&origin.skill()), source);
            settings.skill_rules.push(rule);
        }),
    )
    .option("--disable")
    .in_project(InProject::Restricts(is_off)),
    Setting::new(
        "skills.NAME.pin",
        "true to list the skill first",
        Kind::Switch(|settings, origin, is_pinned| {
            settings.pinned.push((origin.skill(), is_pinned));
        }),
    ),
    Setting::new(
        "skills.NAME.sandbox",
        "sandbox for programs of one skill, as `sandbox`",
        Kind::Text(Check::SANDBOX, |settings, origin, word| {
            let choice = word.parse().unwrap_or_default();
            let of_skills = &mut settings.sandbox.of_skills;
            of_skills.push((origin.skill(), choice));
        }),
    )
    .option("--sandbox")
    .in_project(InProject::NoEffect),
    Setting::new(
        "skills.NAME.packages",
        "list of packages for a skill that does not declare them: `pypdf>=4`, `npm:left-pad@1`",
        Kind::Texts(
            Check {
                expected: "a list of packages, such as pypdf>=4",
                check: check_package,
            },
            |settings, origin, packages| {
                let of_skills = &mut settings.packages.of_skills;
                of_skills.push((origin.skill(), packages));
            },
        ),
    ),
    Setting::new(
        "skills.NAME.interpreters.KIND",
        "interpreter for the scripts of one skill",
        Kind::Path(add_interpreter),
    )
    .option("--interpreter"),
];

fn add_interpreter(settings: &mut Settings, Origin { key, .. }: Origin<'_>, path: PathBuf) {
    let interpreter = key.script_type.map(|kind| InterpreterArg {
        skill: key.skill.clone(),
        kind,
        path,
    });
    settings.interpreters.extend(interpreter);
}

fn is_off(_: &Settings, value: &SettingValue) -> bool {
    matches!(value, SettingValue::Switch(false))
}

fn accept_if(is_accepted: bool) -> Result<(), Option<String>> {
    if is_accepted { Ok(()) } else { Err(None) }
}

/// Keeps the error of a parser as its text.
fn described<T, E: ToString>(parsed: Result<T, E>) -> Result<(), Option<String>> {
    parsed.map(drop).map_err(|error| Some(error.to_string()))
}

/// Checks the reference of an image.
#[cfg(all(feature = "container", target_os = "linux"))]
fn check_image(text: &str) -> Result<(), Option<String>> {
    described(text.parse::<skills_runtime::ImageReference>())
}

/// Accepts every text: this program starts no containers.
#[cfg(not(all(feature = "container", target_os = "linux")))]
fn check_image(_text: &str) -> Result<(), Option<String>> {
    Ok(())
}

/// Parses a package of `skills.NAME.packages`.
#[cfg(all(feature = "packages", unix))]
pub(crate) fn parse_package(text: &str) -> Result<ListedPackage, InvalidPackage> {
    ListedPackage::parse(text, "settings")
}

/// Checks a package of `skills.NAME.packages`.
#[cfg(all(feature = "packages", unix))]
fn check_package(text: &str) -> Result<(), Option<String>> {
    described(parse_package(text))
}

/// Accepts every text: nothing is installed.
#[cfg(not(all(feature = "packages", unix)))]
fn check_package(_text: &str) -> Result<(), Option<String>> {
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
fn is_index_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('@') && rest.chars().all(is_plain))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a page is not a file of a skill")]
mod tests {
    use std::fmt::Write as _;

    use clap::CommandFactory as _;
    use skills_test_support::{assert_document, source_tree};

    use super::super::keys::SettingKey;
    use super::*;
    use crate::cli::Arguments;

    const PAGE: &str = "docs/configuration.md";
    const HEADER: &str =
        "| setting | value | option, variable | in an untrusted project | meaning |\n";

    /// Formats words as a list of code.
    fn code<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
        let words = words.into_iter().map(|word| format!("`{word}`"));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_documentation_lists_all_settings() {
        let mut table = format!("{HEADER}|---|---|---|---|---|\n");
        for setting in &SETTINGS {
            let sources = code(setting.option.iter().chain(setting.variables).copied());
            let in_project = match setting.in_project {
                InProject::NoEffect => "no effect, even with trust",
                InProject::IfTrusted => "no effect",
                InProject::Restricts(_) if matches!(setting.kind, Kind::Switch(_)) => "`false`",
                InProject::Restricts(_) => "a lower value",
            };
            let (name, value, meaning) = (setting.name, setting.kind.expected(), setting.meaning());
            let row = format!("| `{name}` | {value} | {sources} | {in_project} | {meaning} |");
            writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
        }
        let page = std::fs::read_to_string(source_tree().join(PAGE)).unwrap();
        let (before, rest) = page.split_once(HEADER).unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        assert_document(PAGE, &format!("{before}{table}\n{after}"));
    }

    #[test]
    fn each_name_is_a_key_and_its_option_exists() {
        let mut command = Arguments::command();
        command.build();
        for setting in &SETTINGS {
            let key = setting
                .name
                .replace("NAME", "pdf")
                .replace("KIND", "python");
            let parsed = SettingKey::parse_dotted(&key).unwrap();
            assert_eq!(parsed.setting.name, setting.name);
            assert_eq!(parsed.to_string(), key);
            if let Some(option) = setting.option {
                let mut commands = [&command].into_iter().chain(command.get_subcommands());
                let has_option = |command: &clap::Command| {
                    let mut arguments = command.get_arguments();
                    arguments.any(|argument| argument.get_long() == Some(&option[2..]))
                };
                assert!(commands.any(has_option), "{option}");
            }
        }
    }
}
