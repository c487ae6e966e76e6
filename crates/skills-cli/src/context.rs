//! What all commands share: global options, environment, output and the runtime made of them.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Command;
use skills_runtime::discovery::{
    ClientProfile, ConfigRule, Discovery, HiddenDirectories, InactiveReason, NestedSkills,
    ProfileContext, ScanLimits, SearchDepth, SkillFileSymlinks, Trust, TrustedSkills,
};
use skills_runtime::ledger::Ledger;
use skills_runtime::prompt::{ListingMode, ListingModes};
use skills_runtime::{Builder, Catalog, Locale, Root, Scope, Secrets, SkillRuntime};
use skills_store::trusted_file::{self, TrustErrorKind};

use crate::counted::counted;
use crate::env_files;
use crate::error::CommandError;
use crate::global_options::GlobalOptions;
use crate::input;
use crate::interpreters::{self, InterpreterArg};
use crate::lookup;
use crate::output::{Output, line};
use crate::process_environment::{Environment, project_dirs_of};
use crate::selector::parse_selector;
use crate::settings::{LEDGER_VARIABLE, Settings};
use crate::state;
use crate::trusted_skills::TrustedSkillStore;

/// How many problems of settings are shown: the file of a project that is not trusted must not hide
/// other messages.
const MAX_SHOWN_PROBLEMS: usize = 10;

/// What all commands share.
pub(crate) struct Context {
    pub(crate) options: GlobalOptions,
    pub(crate) environment: Environment,
    pub(crate) output: Output,
    /// Returns the definition of the whole command line. A function, since building it takes time and
    /// few commands need it.
    pub(crate) command_line: fn() -> Command,
    settings: OnceCell<Settings>,
    settings_secrets: OnceCell<Secrets>,
    trusted_skills: OnceCell<TrustedSkills>,
    /// The directory of the skill that the user named by its path, if any.
    named_directory: OnceCell<PathBuf>,
    /// Whether missing roots were reported.
    warned_of_roots: Cell<bool>,
    /// Whether a directory for temporary files was reported.
    warned_of_temp_dir: Cell<bool>,
}

impl Context {
    pub(crate) fn new(options: GlobalOptions, command_line: fn() -> Command) -> Self {
        let output = if options.json {
            Output::Json
        } else {
            Output::Text
        };
        Self {
            options,
            environment: Environment::from_process(),
            output,
            command_line,
            settings: OnceCell::new(),
            settings_secrets: OnceCell::new(),
            trusted_skills: OnceCell::new(),
            named_directory: OnceCell::new(),
            warned_of_roots: Cell::new(false),
            warned_of_temp_dir: Cell::new(false),
        }
    }

    /// Adds to an error what the settings have to do with it.
    pub(crate) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        match self.settings.get() {
            Some(settings) => interpreters::explain_error(error, settings),
            None => error,
        }
    }

    /// Returns the settings of the user and of the project, which are read once. Problems in the
    /// files are reported as warnings.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not TOML.
    pub(crate) fn settings(&self) -> anyhow::Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::load(&self.environment, self.options.trust_project)?;
        for problem in settings.problems.iter().take(MAX_SHOWN_PROBLEMS) {
            self.output.status(&format!("warning: {problem}"));
        }
        if let Some(more @ 1..) = settings.problems.len().checked_sub(MAX_SHOWN_PROBLEMS) {
            let more = counted(more, "more problem");
            self.output
                .status(&format!("warning: {more} of the settings"));
        }
        Ok(self.settings.get_or_init(|| settings))
    }

    /// Returns the trust in the skills and the policy of the project.
    ///
    /// # Errors
    /// Fails if the settings cannot be read.
    pub(crate) fn project_trust(&self) -> anyhow::Result<Trust> {
        Ok(self.settings()?.project_trust)
    }

    /// Returns the variables of the `.env` files of the settings, which are read once.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn settings_secrets(&self) -> anyhow::Result<&Secrets> {
        if let Some(secrets) = self.settings_secrets.get() {
            return Ok(secrets);
        }
        let secrets = self.read_env_files(&self.settings()?.env_files)?;
        Ok(self.settings_secrets.get_or_init(|| secrets))
    }

    /// Reads `.env` files. Those of the project may belong to another user, with a warning.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if another user can change one of another directory.
    pub(crate) fn read_env_files(&self, paths: &[PathBuf]) -> anyhow::Result<Secrets> {
        let project = self.environment.project_root();
        env_files::read(paths, project, self.output)
    }

    /// Returns a runtime in which nothing can run.
    pub(crate) fn runtime(&self) -> anyhow::Result<SkillRuntime> {
        Ok(self.build(self.read_only_builder()?))
    }

    /// Configures a runtime whose lists are shown to no model, so that they are not recorded.
    pub(crate) fn unrecorded_builder(&self) -> anyhow::Result<Builder> {
        Ok(self.read_only_builder()?.usage_ledger(None))
    }

    /// Returns the ledger in which the use of skills is recorded; `None` if that is switched off by
    /// `SKILLS_LEDGER` or by a setting, or if other users could write the state directory.
    ///
    /// # Errors
    /// Fails if the settings cannot be read.
    pub(crate) fn usage_ledger(&self) -> anyhow::Result<Option<Ledger>> {
        let is_on = match self.environment.variable(LEDGER_VARIABLE) {
            None => self.settings()?.usage_ledger.unwrap_or(true),
            Some(value) if value == "on" => true,
            Some(value) => {
                if value != "off" {
                    self.output.status(&format!(
                        "warning: invalid `{LEDGER_VARIABLE}`: expected `on` or `off`; no use is recorded"
                    ));
                }
                false
            }
        };
        // A missing one is created, and checked when the ledger is opened.
        let is_private = |directory: PathBuf| {
            let checked = trusted_file::check_directory(&directory);
            !checked.is_err_and(|error| error.kind() != TrustErrorKind::NotFound)
        };
        let is_private = self.environment.state_dir().is_some_and(is_private);
        Ok(state::usage_ledger(&self.environment).filter(|_| is_on && is_private))
    }

    /// Configures a runtime in which nothing can run. It reports the same missing requirements as
    /// a run.
    pub(crate) fn read_only_builder(&self) -> anyhow::Result<Builder> {
        Ok(self.with_settings_secrets(self.builder(&[])?))
    }

    /// Returns a runtime without skills, in which nothing can run. It knows the programs and the
    /// variables of this host, like the runtimes of all commands.
    pub(crate) fn runtime_without_skills(&self) -> anyhow::Result<SkillRuntime> {
        Ok(self.with_settings_secrets(self.host_builder(&[])?).build())
    }

    /// Adds the variables of the settings. A file that cannot be read is only a warning, since
    /// nothing runs without its variables.
    fn with_settings_secrets(&self, builder: Builder) -> Builder {
        match self.settings_secrets() {
            Ok(secrets) => builder.secrets(secrets.clone()),
            Err(error) => {
                self.output.status(&format!("warning: {error:#}"));
                builder
            }
        }
    }

    /// Configures what all commands with a runtime share: discovery, scratch space, interpreters,
    /// code cache and compiler. Policy, secrets, approvals and audit log are added by the commands
    /// that run programs.
    pub(crate) fn builder(&self, interpreters: &[InterpreterArg]) -> anyhow::Result<Builder> {
        Ok(self
            .host_builder(interpreters)?
            .discovery(self.discovery()?)
            .modes(self.listing_modes()?)
            .usage_ledger(self.usage_ledger()?))
    }

    /// Builds the runtime of a command from what [`builder`](Self::builder) configured, and warns about
    /// `--disable` patterns that match nothing. The scan for that is the one of the command.
    pub(crate) fn build(&self, builder: Builder) -> SkillRuntime {
        let runtime = builder.build();
        if !self.options.disable.is_empty() {
            self.warn_unused_disable(&runtime.library().catalog());
        }
        runtime
    }

    /// Returns how the settings list skills to a model.
    pub(crate) fn listing_modes(&self) -> anyhow::Result<ListingModes> {
        let pinned = self.settings()?.pinned.iter();
        Ok(
            pinned.fold(ListingModes::default(), |modes, (skill, is_pinned)| {
                let mode = if *is_pinned {
                    ListingMode::Pinned
                } else {
                    ListingMode::Auto
                };
                modes.with_rule(parse_selector(skill), mode)
            }),
        )
    }

    /// Configures what does not depend on skills.
    fn host_builder(&self, interpreters: &[InterpreterArg]) -> anyhow::Result<Builder> {
        let builder = SkillRuntime::builder().scratch_directory(&self.environment.temp_dir().path);
        // For all commands and not only for those that run: previews and `doctor` must find the
        // same interpreters as a run.
        let settings = self.settings()?;
        let builder = interpreters::configure(
            builder,
            interpreters,
            &settings.interpreters,
            &self.environment,
        )?;
        let builder = crate::containers::configure(builder, &settings.sandbox, &self.environment)?;
        #[cfg(feature = "wasm")]
        let builder = crate::wasm_compiler::configure(builder, &self.environment);
        // Grants name canonical paths.
        let home = self.environment.home();
        let home = home.and_then(|home| home.canonicalize().ok());
        let builder = home.into_iter().fold(builder, Builder::user_home);
        let builder = builder.locale(Locale::from_variables(|name| {
            let value = self.environment.variable(name)?;
            value.to_str().map(str::to_owned)
        }));
        let builder = builder.upstream_proxies(self.environment.upstream_proxies().0);
        let cache = self.environment.cache_dir().into_iter();
        Ok(cache.fold(builder, |builder, cache| {
            builder.search_cache(cache.join(state::SEARCH_CACHE_DIR))
        }))
    }

    /// Configures discovery: the roots of `--root`, else those of the client profile, with the
    /// limits and rules of the command line.
    pub(crate) fn discovery(&self) -> anyhow::Result<Discovery> {
        let options = &self.options;
        self.check_given_roots()?;
        let profile = find_profile(options.profile.as_deref())?;
        let discovery = profile.discovery(&self.profile_context()?);
        let settings = self.settings()?;
        let mut roots = if options.root.is_empty() {
            discovery.roots().to_vec()
        } else {
            self.given_roots(profile, &options.root)
        };
        let added = [options.add_root.as_slice(), &settings.roots].concat();
        roots.extend(self.given_roots(profile, &added));
        // Last, so that a skill of another root stays one of it.
        roots.extend(self.named_root(profile, &roots)?);
        let roots = roots.into_iter().map(|root| self.configure_search(root));
        let limits = self.with_given_limits(ScanLimits::default());
        let disabled = options.disable.iter().map(|pattern| disable_rule(pattern));
        let rules = settings.skill_rules.iter().cloned().chain(disabled);
        let discovery = discovery.with_roots(roots).limits(limits).rules(rules);
        Ok(discovery.with_trusted_skills(self.trusted_skills()?))
    }

    /// Returns the skills of a project that is not trusted that its user trusts by their content, which
    /// are read once. If they cannot be read, there are none, with a warning.
    fn trusted_skills(&self) -> anyhow::Result<TrustedSkills> {
        if self.project_trust()? == Trust::Trusted {
            return Ok(TrustedSkills::default());
        }
        let skills = self.trusted_skills.get_or_init(|| {
            let store = TrustedSkillStore::new(&self.environment);
            let skills = store.map_or(Ok(Vec::new()), |store| store.read());
            let skills = skills.unwrap_or_else(|error| {
                let warning = "warning: no skill of the project is trusted by its content";
                self.output.status(&format!("{warning}: {error}"));
                Vec::new()
            });
            skills.into_iter().collect()
        });
        Ok(skills.clone())
    }

    /// Resolves the skill that the user named. One that is named by its path is found also if no root
    /// contains it. Called before [`builder`](Self::builder).
    pub(crate) fn name_skill(&self, argument: &str) -> String {
        let name = input::resolve_skill_name(argument);
        if input::is_explicit_path(argument)
            && let Some(directory) = lookup::skill_directory(Path::new(&name))
        {
            self.named_directory.get_or_init(|| directory.to_owned());
        }
        name
    }

    /// Returns the root of the skill that the user named by its path. `None` below a root that is not
    /// trusted: naming a skill of a cloned repository does not trust the repository.
    fn named_root(&self, profile: ClientProfile, roots: &[Root]) -> anyhow::Result<Option<Root>> {
        let directory = self.named_directory.get();
        let Some(directory) = directory.filter(|path| !is_in_untrusted(path, roots)) else {
            return Ok(None);
        };
        let trust = self.trust_of_named(profile, directory)?;
        let root = Root::new(directory, Scope::Custom).trust(trust);
        let root = profile.configure_root(root).depth(SearchDepth::OneLevel);
        Ok(Some(root))
    }

    /// Returns the trust in a directory that the user named. It is untrusted where a client finds skills
    /// of a project, if the user does not trust that one: the project of the directory, not of the
    /// working directory.
    fn trust_of_named(&self, profile: ClientProfile, directory: &Path) -> anyhow::Result<Trust> {
        let project = project_dirs_of(directory);
        let mut context = self.profile_context()?;
        let resolved = |path: &Path| path.canonicalize().ok();
        let own = self.environment.project_root().and_then(resolved);
        if own.as_ref() != project.first() {
            context.project_trust = self.settings()?.trust_in(project.first());
        }
        for count in 1..=project.len() {
            // Some clients find skills in their working directory only, which can be any of these.
            context.project_directories = project[..count].to_vec();
            for profile in [ClientProfile::Universal, profile] {
                if is_in_untrusted(directory, &profile.roots(&context)) {
                    return Ok(Trust::Untrusted);
                }
            }
        }
        Ok(Trust::Trusted)
    }

    /// Warns, once, about roots of the command line that do not exist: a server finds their skills
    /// when they are created.
    ///
    /// # Errors
    /// Fails if a root is not a directory.
    fn check_given_roots(&self) -> anyhow::Result<()> {
        let given = self.options.root.iter().chain(&self.options.add_root);
        // One that cannot be read is not missing: opening it fails with the reason.
        let is_missing = |root: &&PathBuf| matches!(root.try_exists(), Ok(false));
        let (missing, existing): (Vec<_>, Vec<_>) = given.partition(is_missing);
        for root in existing {
            input::resolve_directory(root)?;
        }
        if !self.warned_of_roots.replace(true) {
            for root in missing {
                let root = line(&root.to_string_lossy());
                self.output
                    .status(&format!("warning: root `{root}` does not exist"));
            }
        }
        Ok(())
    }

    /// Says, once, where temporary files are if not where the user or the system says.
    pub(crate) fn warn_of_temp_dir(&self) {
        let temp_dir = self.environment.temp_dir();
        if let Some(problem) = &temp_dir.problem
            && !self.warned_of_temp_dir.replace(true)
        {
            let used = temp_dir.path.display();
            self.output
                .status(&format!("note: temporary files are in `{used}`: {problem}"));
        }
    }

    /// Returns the roots in search order, without a scan.
    #[cfg(feature = "install")]
    pub(crate) fn roots(&self) -> anyhow::Result<Vec<Root>> {
        Ok(self.discovery()?.roots().to_vec())
    }

    /// Returns the roots that the user named, configured.
    fn given_roots(&self, profile: ClientProfile, directories: &[PathBuf]) -> Vec<Root> {
        let roots = given_roots(directories).into_iter();
        roots
            .map(|root| self.configure_given(profile, root))
            .collect()
    }

    /// Applies the options for nested skills, depth and symlinks.
    fn configure_search(&self, mut root: Root) -> Root {
        if self.options.nested {
            root = root.nested(NestedSkills::Search);
        }
        if self.options.max_depth.is_some() {
            // Also in place of the depth of a client.
            root = root.depth(SearchDepth::Limited);
        }
        if self.options.follow_skill_links {
            root = root.skill_file_symlinks(SkillFileSymlinks::Follow);
        }
        root
    }

    /// Configures a root that the user named: its whole content is meant, so it has higher limits,
    /// and hidden directories are searched unless the client of a profile does not.
    fn configure_given(&self, profile: ClientProfile, root: Root) -> Root {
        let root = profile.configure_root(root);
        let root = if profile == ClientProfile::Universal {
            root.hidden(HiddenDirectories::Search)
        } else {
            root
        };
        root.limits(self.with_given_limits(given_root_limits()))
    }

    /// Replaces the limits that the command line sets.
    pub(crate) fn with_given_limits(&self, mut limits: ScanLimits) -> ScanLimits {
        let options = &self.options;
        limits.max_depth = options.max_depth.unwrap_or(limits.max_depth);
        limits.max_directories = options.max_directories.unwrap_or(limits.max_directories);
        limits.max_entries = options.max_entries.unwrap_or(limits.max_entries);
        limits
    }

    fn profile_context(&self) -> anyhow::Result<ProfileContext> {
        let environment = &self.environment;
        let mut context = ProfileContext::default();
        context.project_directories = environment.project_dirs().to_vec();
        context.home = environment.home().map(Into::into);
        context.codex_home = environment.path("CODEX_HOME");
        context.claude_config = environment.path("CLAUDE_CONFIG_DIR");
        context.xdg_config_home = environment.path("XDG_CONFIG_HOME");
        context.openclaw_state = environment.path("OPENCLAW_STATE_DIR");
        let listed = environment.variable("COPILOT_SKILLS_DIRS");
        let listed = listed.unwrap_or_default().to_string_lossy();
        let listed = listed.split(',').map(|path| PathBuf::from(path.trim()));
        context.copilot_directories = listed.filter(|path| path.is_absolute()).collect();
        // Skills of a project that is not trusted are found but inactive: a cloned repository must
        // not address a model before the user has agreed.
        context.project_trust = self.project_trust()?;
        Ok(context)
    }

    /// Warns about `--disable` patterns that match nothing: a safety switch must not fail silently.
    fn warn_unused_disable(&self, catalog: &Catalog) {
        for pattern in &self.options.disable {
            let rule = disable_rule(pattern).with_resolved_path();
            let is_disabled = catalog.inactive().iter().any(|inactive| {
                matches!(inactive.reason(), InactiveReason::Disabled { rule: by } if *by == rule)
            });
            if !is_disabled {
                self.output
                    .status(&format!("warning: `--disable {pattern}` matches no skill"));
            }
        }
    }
}

/// Returns true if a canonical path is in a root that is not trusted.
fn is_in_untrusted(path: &Path, roots: &[Root]) -> bool {
    roots.iter().any(|root| {
        let root_path = root.path().canonicalize();
        !root.is_trusted() && root_path.is_ok_and(|root_path| path.starts_with(root_path))
    })
}

/// Returns the limits of a root that the user named.
pub(crate) fn given_root_limits() -> ScanLimits {
    let mut limits = ScanLimits::default();
    limits.max_directories = 200_000;
    limits.max_entries = 2_000_000;
    limits
}

fn given_roots(paths: &[PathBuf]) -> Vec<Root> {
    let mut seen = HashSet::new();
    let mut roots = Vec::new();
    for path in paths {
        // A root keeps the path as given, since skills can be referred to by it.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        // Two spellings of one root would make each of its skills a duplicate of itself.
        if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            roots.push(Root::new(path, Scope::Custom));
        }
    }
    roots
}

fn disable_rule(pattern: &str) -> ConfigRule {
    ConfigRule::disable(parse_selector(pattern), "--disable")
}

/// Finds the client profile by its name. Default: `universal`.
fn find_profile(name: Option<&str>) -> anyhow::Result<ClientProfile> {
    let Some(name) = name else {
        return Ok(ClientProfile::Universal);
    };
    let profile = ClientProfile::from_name(name);
    Ok(profile
        .ok_or_else(|| unknown_profile(name, &ClientProfile::ALL.map(ClientProfile::as_str)))?)
}

/// Returns the error for an unknown value of `--profile`.
pub(crate) fn unknown_profile(name: &str, known: &[&str]) -> CommandError {
    CommandError::input(format!("unknown client profile `{name}`"))
        .with_help(format!("available: {}", known.join(", ")))
}
