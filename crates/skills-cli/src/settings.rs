//! Settings of the user and of a project: the only module that reads them.
//!
//! A setting is the default of a command-line option, for every command. It grants nothing:
//! permissions are in policy files.
//!
//! ```text
//! ~/.config/skills/config.toml   user: every key applies
//! PROJECT/.skills/config.toml    project: lowers limits, disables skills and records; the other keys need
//!                                `--trust-project`, since a project could name its own programs
//! ```

mod definitions;
mod keys;

use std::path::{Path, PathBuf};

use skills_runtime::SandboxChoice;
use skills_runtime::discovery::{ConfigRule, Trust};
use skills_runtime::policy::RuleSource;

#[cfg(all(feature = "container", target_os = "linux"))]
pub(crate) use self::definitions::ENGINE_VARIABLE;
use self::definitions::InProject;
#[cfg(all(feature = "packages", unix))]
pub(crate) use self::definitions::parse_package;
pub(crate) use self::definitions::{
    DEFAULT_GRACE, Kind, LEDGER_VARIABLE, MAX_MIB, MAX_SECONDS, SETTINGS, TRUSTED_PROJECTS,
};
use self::keys::{BaseDirs, FileProblem, FileSettings, Origin, SettingValue};
pub(crate) use self::keys::{HOME_PREFIX, SettingKey};
use crate::error::CommandError;
use crate::interpreters::InterpreterArg;
use crate::policy_files::read_source_file;
use crate::process_environment::Environment;
use crate::state::SettingsPaths;

/// The effective settings.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) grace_ms: Option<u64>,
    pub(crate) memory_mib: Option<u64>,
    /// Whether hooks of skills run.
    pub(crate) hooks: bool,
    /// Whether the use of skills is recorded; by default it is.
    pub(crate) usage_ledger: Option<bool>,
    pub(crate) sandbox: SandboxSettings,
    pub(crate) packages: PackageSettings,
    /// Hosts that skills are installed from although their addresses are private.
    pub(crate) private_sources: Vec<String>,
    /// The registry of `clawhub:SLUG`, if it is not the public one.
    pub(crate) clawhub_registry: Option<String>,
    pub(crate) env_files: Vec<PathBuf>,
    /// Certificate authorities for programs.
    pub(crate) ca_file: Option<PathBuf>,
    /// Whether the skills, settings and policy of the project are used.
    pub(crate) project_trust: Trust,
    /// Roots of projects that the user trusts.
    pub(crate) trusted_projects: Vec<PathBuf>,
    /// Roots in addition to those of the client profile.
    pub(crate) roots: Vec<PathBuf>,
    /// Those for one skill and those for all; later ones take precedence.
    pub(crate) interpreters: Vec<InterpreterArg>,
    /// Skills that are enabled or disabled.
    pub(crate) skill_rules: Vec<ConfigRule>,
    /// Skills that are pinned, or are not although an earlier file pins them; later ones take
    /// precedence.
    pub(crate) pinned: Vec<(String, bool)>,
    /// Unknown keys, invalid values and keys without effect, each with its file and line.
    pub(crate) problems: Vec<String>,
    /// The values in effect with the file of each, in the order in which they apply.
    pub(crate) sources: Vec<(SettingKey, String, PathBuf)>,
}

/// Settings about the sandbox of programs.
#[derive(Debug, Default)]
pub(crate) struct SandboxSettings {
    pub(crate) choice: SandboxChoice,
    /// The choices for skills, by name.
    pub(crate) of_skills: Vec<(String, SandboxChoice)>,
    pub(crate) image: Option<String>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) runtime: Option<String>,
    pub(crate) keep_seconds: u64,
}

/// Settings about packages that skills declare.
#[derive(Debug, Default)]
pub(crate) struct PackageSettings {
    /// Whether missing packages are never installed.
    pub(crate) is_ignored: bool,
    pub(crate) python_index: Option<String>,
    pub(crate) npm_registry: Option<String>,
    pub(crate) hosts: Vec<String>,
    pub(crate) builds: bool,
    /// Packages for skills that do not declare them.
    pub(crate) of_skills: Vec<(String, Vec<String>)>,
}

impl Settings {
    /// Reads the files of the user and of the project. Files that do not exist have no settings.
    /// `trust_project` is the option; without it the settings of the user decide.
    pub(crate) fn load(environment: &Environment, trust_project: bool) -> anyhow::Result<Self> {
        let paths = SettingsPaths::new(environment);
        let mut settings = Self::default();
        if let Some((path, file)) = read(RuleSource::User, paths.user, Trust::Trusted, environment)?
        {
            settings.apply(&path, file);
        }
        let root = environment.project_root();
        let root = root.and_then(|root| root.canonicalize().ok());
        settings.project_trust = if trust_project {
            Trust::Trusted
        } else {
            settings.trust_in(root.as_ref())
        };
        // The innermost directory last, since it takes precedence.
        for path in paths.project {
            let trust = settings.project_trust;
            let mut file = read(RuleSource::Project, Some(path), trust, environment);
            if let Ok(Some((path, file))) = &mut file {
                settings.drop_settings_of_users(path, file);
            }
            match (settings.project_trust, file) {
                (_, Ok(None)) => {}
                (Trust::Trusted, Ok(Some((path, file)))) => settings.apply(&path, file),
                (_, Ok(Some((path, file)))) => settings.narrow(&path, file),
                (Trust::Trusted, Err(error)) => return Err(error),
                // Settings deny nothing, so a project that is not trusted cannot stop commands by a
                // broken file.
                (_, Err(error)) => settings.problems.push(format!("{error:#}")),
            }
        }
        settings.apply_variables(environment);
        Ok(settings)
    }

    /// Returns the file that the value of a key in effect is from.
    pub(crate) fn file_of(&self, name: &str) -> Option<&Path> {
        let mut sources = self.sources.iter().rev();
        let (.., file) = sources.find(|(key, ..)| key.setting.name == name)?;
        Some(file)
    }

    /// Returns the trust of the user in the project with this canonical root. The paths of settings
    /// are resolved, so that neither a symlink nor another spelling makes a difference.
    pub(crate) fn trust_in(&self, root: Option<&PathBuf>) -> Trust {
        let trusted = self.trusted_projects.iter();
        let mut resolved = trusted.filter_map(|path| path.canonicalize().ok());
        if root.is_some_and(|root| resolved.any(|path| path == *root)) {
            Trust::Trusted
        } else {
            Trust::Untrusted
        }
    }

    /// Removes what only a user states, also if the project is trusted: whom to trust, and the sandbox.
    fn drop_settings_of_users(&mut self, path: &Path, file: &mut FileSettings) {
        file.values.retain(|(key, _)| {
            let is_allowed = !matches!(key.setting.in_project, InProject::NoEffect);
            if !is_allowed {
                self.problems.push(format!(
                    "{}: `{key}` of a project has no effect",
                    path.display()
                ));
            }
            is_allowed
        });
    }

    /// Applies all settings of a file.
    fn apply(&mut self, path: &Path, file: FileSettings) {
        self.add_problems(file.problems);
        for (key, value) in file.values {
            self.apply_value(path, &key, value);
        }
    }

    fn apply_value(&mut self, path: &Path, key: &SettingKey, value: SettingValue) {
        let source = (key.clone(), value.to_string(), path.to_owned());
        self.sources.push(source);
        self.set(Origin { key, file: path }, value);
    }

    fn add_problems(&mut self, problems: Vec<FileProblem>) {
        let messages = problems.into_iter().map(|problem| problem.message);
        self.problems.extend(messages);
    }

    /// Applies the settings of an untrusted project that restrict, and reports the others.
    fn narrow(&mut self, path: &Path, file: FileSettings) {
        self.add_problems(file.problems);
        for (key, value) in file.values {
            let restricts = match key.setting.in_project {
                InProject::Restricts(restricts) => restricts(self, &value),
                InProject::IfTrusted | InProject::NoEffect => false,
            };
            if restricts {
                self.apply_value(path, &key, value);
            } else {
                let path = path.display();
                self.problems.push(format!(
                    "{path}: `{key}` of a project has no effect without `--trust-project`"
                ));
            }
        }
    }

    fn set(&mut self, origin: Origin<'_>, value: SettingValue) {
        match (&origin.key.setting.kind, value) {
            (Kind::Path(set), SettingValue::Path(path)) => set(self, origin, path),
            (Kind::Paths(list), SettingValue::Paths(paths)) => list(self).extend(paths),
            (Kind::Text(_, set), SettingValue::Text(text)) => set(self, origin, text),
            (Kind::Texts(_, set), SettingValue::Texts(texts)) => set(self, origin, texts),
            (Kind::Number(_, _, set), SettingValue::Number(number)) => set(self, number),
            (Kind::Switch(set), SettingValue::Switch(is_on)) => set(self, origin, is_on),
            // The parser gives each key a value of its type.
            _ => {}
        }
    }

    /// Applies the variables of the settings that are texts and are in no file.
    fn apply_variables(&mut self, environment: &Environment) {
        for setting in &SETTINGS {
            let Kind::Text(check, set) = &setting.kind else {
                continue;
            };
            if self
                .sources
                .iter()
                .any(|(key, ..)| key.setting.name == setting.name)
            {
                continue;
            }
            let mut variables = setting.variables.iter();
            let valid = variables.find_map(|name| {
                let text = environment.variable(name)?.to_str()?;
                (check.check)(text).is_ok().then(|| text.to_owned())
            });
            if let Some(text) = valid {
                let key = SettingKey {
                    setting,
                    skill: None,
                    script_type: None,
                };
                let file = Path::new("");
                set(self, Origin { key: &key, file }, text);
            }
        }
    }
}

/// Returns the path that a value of the user's settings refers to.
pub(crate) fn resolve_user_path(text: &str, environment: &Environment) -> PathBuf {
    resolve_path(RuleSource::User, Path::new(""), text, environment)
}

/// Returns the path that a value of a settings file refers to.
pub(crate) fn resolve_path(
    source: RuleSource,
    file: &Path,
    text: &str,
    environment: &Environment,
) -> PathBuf {
    let directories = BaseDirs {
        base: &base_dir(source, file, environment),
        home: environment.home(),
    };
    directories.resolve(text).unwrap_or_else(|_| text.into())
}

/// Checks that the text of a settings file, which is not written yet, has a valid value for a key.
/// Problems of other keys do not count, since a file of a later version still applies.
///
/// # Errors
/// Fails if the value is invalid or missing, or if the text is not TOML.
pub(crate) fn check_value(text: &str, path: &Path, key: &SettingKey) -> Result<(), CommandError> {
    let root = Path::new("/");
    let directories = BaseDirs {
        base: root,
        home: Some(root),
    };
    let settings = FileSettings::parse(text, path, directories).map_err(CommandError::input)?;
    let parts = key.path();
    if settings
        .values
        .iter()
        .any(|(known, _)| known.path() == parts)
    {
        return Ok(());
    }
    // A table of the key can be a value.
    let mut problems = settings.problems.into_iter();
    let problem = problems.find(|problem| parts.starts_with(&problem.key));
    Err(CommandError::input(match problem {
        // Without the line, since the file on disk has another text.
        Some(problem) => problem.cause,
        None => format!("cannot set `{key}` in `{}`", path.display()),
    }))
}

/// Reads one file; `None` if it does not exist.
fn read(
    source: RuleSource,
    path: Option<PathBuf>,
    project_trust: Trust,
    environment: &Environment,
) -> anyhow::Result<Option<(PathBuf, FileSettings)>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let Some(text) = read_source_file(source, &path, "settings file", project_trust)? else {
        return Ok(None);
    };
    let directories = BaseDirs {
        base: &base_dir(source, &path, environment),
        home: environment.home(),
    };
    let settings = FileSettings::parse(&text, &path, directories).map_err(CommandError::input)?;
    Ok(Some((path, settings)))
}

/// Returns the directory that relative paths of a file refer to: the project, or the home directory
/// of the user.
fn base_dir(source: RuleSource, path: &Path, environment: &Environment) -> PathBuf {
    let project = path.parent().and_then(Path::parent);
    let base = match source {
        RuleSource::Project => project,
        _ => environment.home(),
    };
    base.unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(user: &str, project: &str, trust: Trust) -> String {
        let mut settings = Settings::default();
        let parse = |text: &str, path: &str| {
            let directories = BaseDirs {
                base: Path::new("/base"),
                home: Some(Path::new("/home/ada")),
            };
            FileSettings::parse(text, Path::new(path), directories).unwrap()
        };
        settings.apply(Path::new("/user"), parse(user, "/user"));
        let file = parse(project, "/project");
        match trust {
            Trust::Trusted => settings.apply(Path::new("/project"), file),
            _ => settings.narrow(Path::new("/project"), file),
        }
        let values = settings.sources.iter();
        let values =
            values.map(|(key, value, path)| format!("{key} = {value} ({})", path.display()));
        values
            .chain(settings.problems)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn an_untrusted_project_only_narrows() {
        let user = "memory-mib = 512\n[interpreters]\npython = \"/usr/bin/python3\"";
        let project = "memory-mib = 1024\ntimeout-seconds = 5\ngrace-seconds = 3\nworkspace = \".\"\n[interpreters]\npython = \".venv/bin/python\"\n[skills.pdf]\nenabled = false\n[skills.docx]\nenabled = true\n";
        insta::assert_snapshot!(effective(user, project, Trust::Untrusted), @"
        memory-mib = 512 (/user)
        interpreters.python = /usr/bin/python3 (/user)
        timeout-seconds = 5 (/project)
        skills.pdf.enabled = false (/project)
        /project: `memory-mib` of a project has no effect without `--trust-project`
        /project: `grace-seconds` of a project has no effect without `--trust-project`
        /project: `workspace` of a project has no effect without `--trust-project`
        /project: `interpreters.python` of a project has no effect without `--trust-project`
        /project: `skills.docx.enabled` of a project has no effect without `--trust-project`
        ");
        insta::assert_snapshot!(effective(user, project, Trust::Trusted), @"
        memory-mib = 512 (/user)
        interpreters.python = /usr/bin/python3 (/user)
        memory-mib = 1024 (/project)
        timeout-seconds = 5 (/project)
        grace-seconds = 3 (/project)
        workspace = /base/. (/project)
        interpreters.python = /base/.venv/bin/python (/project)
        skills.pdf.enabled = false (/project)
        skills.docx.enabled = true (/project)
        ");
    }

    #[test]
    fn a_path_with_a_tilde_is_in_the_home_directory_of_the_user() {
        let project = "workspace = \"~/work\"\nroots = [\"~\", \"~x\", \"/srv\"]\n";
        insta::assert_snapshot!(effective("", project, Trust::Trusted), @"
        workspace = /home/ada/work (/project)
        roots = /home/ada/, /base/~x, /srv (/project)
        ");
        let directories = BaseDirs {
            base: Path::new("/base"),
            home: None,
        };
        let file = FileSettings::parse(project, Path::new("/project"), directories).unwrap();
        assert_eq!(
            file.problems[0].message,
            "/project:1: invalid `workspace`: cannot resolve `~` without a home directory"
        );
    }

    #[test]
    fn a_timeout_has_its_unit() {
        let mut settings = Settings::default();
        let directories = BaseDirs {
            base: Path::new("/"),
            home: None,
        };
        let parse = |text| FileSettings::parse(text, Path::new("/user"), directories).unwrap();
        settings.apply(Path::new("/user"), parse("timeout-seconds = 120\n"));
        assert_eq!(settings.timeout_ms, Some(120_000));
        assert_eq!(settings.sources[0].1, "120");
        settings.narrow(Path::new("/project"), parse("timeout-seconds = 121\n"));
        assert_eq!(settings.timeout_ms, Some(120_000));
        settings.narrow(Path::new("/project"), parse("timeout-seconds = 119\n"));
        assert_eq!(settings.timeout_ms, Some(119_000));
    }

    #[test]
    fn names_of_skills_can_contain_dots() {
        for (text, path) in [
            ("skills.a.b.enabled", "skills|a.b|enabled"),
            (
                "skills.a.interpreters.b.interpreters.python",
                "skills|a.interpreters.b|interpreters|python",
            ),
            ("interpreters.python", "interpreters|python"),
        ] {
            let key = SettingKey::parse_dotted(text).unwrap();
            assert_eq!(key.path().join("|"), path);
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn problems_have_file_line_and_the_nearest_name() {
        let text = "memroy-mib = 512\nmemory-mib = \"much\"\n[interpreters]\npyhton = \"/x\"\n[skills.pdf]\nenable = false\n[colour]\na = 1\n";
        let names = keys::names_below("").join(", ");
        assert!(names.ends_with("interpreters, skills"), "{names}");
        let effective = effective(text, "", Trust::Untrusted).replace(&names, "[names]");
        insta::assert_snapshot!(effective, @r#"
        /user:1: unknown key `memroy-mib`; did you mean `memory-mib`?
        /user:2: invalid `memory-mib`: expected 1 or more MiB
        /user:4: unknown key `pyhton`; did you mean `python`?
        /user:6: unknown key `enable`; did you mean `enabled`?
        /user:8: unknown key `colour`: expected one of [names]
        "#);
    }
}
