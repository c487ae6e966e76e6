//! Discovery configuration from the command line and the environment.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;

use anyhow::anyhow;
use skills_runtime::discovery::{
    ClientProfile, ConfigRule, Discovery, InactiveReason, ProfileContext, ScanLimits, Selector,
    SkillFileSymlinks, project_directories,
};
use skills_runtime::{Catalog, Root, Scope};

use crate::arguments::Arguments;
use crate::input::{self, InputError};
use crate::output::Output;

/// Entries that mark a directory as the root of a project.
pub(crate) const PROJECT_MARKERS: [&str; 1] = [".git"];

/// Configures discovery: the roots of `--root`, else those of the client profile, with the limits
/// and rules of the command line.
pub(crate) fn build_discovery(arguments: &Arguments) -> anyhow::Result<Discovery> {
    // A default root can be missing; one given with `--root` cannot.
    arguments
        .root
        .iter()
        .try_for_each(|root| input::resolve_directory(root).map(drop))?;
    let profile = find_profile(arguments.profile.as_deref())?;
    let surroundings = root_environment(arguments);
    let discovery = profile.discovery(&surroundings);
    let mut roots = discovery.roots().to_vec();
    if !arguments.root.is_empty() {
        // A root keeps the path as given, since skills can be referred to by it.
        let mut paths: Vec<PathBuf> = arguments
            .root
            .iter()
            .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
            .collect();
        let mut seen = std::collections::HashSet::new();
        // Two spellings of one root would make each of its skills a duplicate of itself.
        paths.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
        roots = paths
            .into_iter()
            .map(|path| profile.configure_root(Root::new(path, Scope::Custom)))
            .collect();
    }
    if arguments.follow_skill_links {
        roots = roots
            .into_iter()
            .map(|root| root.skill_file_symlinks(SkillFileSymlinks::Follow))
            .collect();
    }
    let mut limits = ScanLimits::default();
    limits.max_directories = arguments.max_directories.unwrap_or(limits.max_directories);
    limits.max_entries = arguments.max_entries.unwrap_or(limits.max_entries);
    let disabled = arguments
        .disable
        .iter()
        .map(|pattern| ConfigRule::disable(parse_selector(pattern), "--disable"));
    Ok(discovery.with_roots(roots).limits(limits).rules(disabled))
}

/// Warns about `--disable` patterns that match nothing: a safety switch must not fail silently.
pub(crate) fn warn_unused_disable(arguments: &[String], catalog: &Catalog, output: &Output) {
    for text in arguments {
        let rule = ConfigRule::disable(parse_selector(text), "--disable");
        let matches = catalog
            .inactive()
            .iter()
            .any(|inactive| matches!(inactive.reason(), InactiveReason::Disabled { rule: by } if *by == rule.clone().with_resolved_path()));
        if !matches {
            output.status(&format!("warning: `--disable {text}` matches no skill"));
        }
    }
}

/// Finds the client profile by its name. Default: `universal`.
pub(crate) fn find_profile(name: Option<&str>) -> anyhow::Result<ClientProfile> {
    let Some(name) = name else {
        return Ok(ClientProfile::Universal);
    };
    ClientProfile::from_name(name).ok_or_else(|| {
        let names = ClientProfile::ALL.map(ClientProfile::as_str).join(", ");
        anyhow!(
            InputError::new(format!("unknown client profile `{name}`"))
                .with_help(format!("available: {names}"))
        )
    })
}

/// Parses a selector: a path, a pattern or a name.
pub(crate) fn parse_selector(text: &str) -> Selector {
    // First, since a pattern can contain separators too.
    if text.contains(['*', '?']) {
        Selector::Pattern(text.to_owned())
    } else if text.contains(std::path::is_separator) {
        Selector::Path(PathBuf::from(text))
    } else {
        Selector::Name(text.to_owned())
    }
}

/// Returns the directories of the project, the innermost first.
pub(crate) fn project_dirs() -> Vec<PathBuf> {
    env::current_dir()
        .map(|directory| project_directories(&directory, &PROJECT_MARKERS))
        .unwrap_or_default()
}

fn root_environment(arguments: &Arguments) -> ProfileContext {
    // Empty and relative values are ignored, so that the working directory is never used as the
    // home directory.
    let set = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let mut surroundings = ProfileContext::default();
    surroundings.project_directories = project_dirs();
    surroundings.home = env::home_dir().filter(|home| home.is_absolute());
    surroundings.codex_home = set("CODEX_HOME");
    surroundings.claude_config = set("CLAUDE_CONFIG_DIR");
    surroundings.xdg_config_home = set("XDG_CONFIG_HOME");
    surroundings.openclaw_state = set("OPENCLAW_STATE_DIR");
    let listed = env::var_os("COPILOT_SKILLS_DIRS").unwrap_or_default();
    let listed = listed.to_string_lossy();
    surroundings.copilot_directories = listed
        .split(',')
        .map(|path| PathBuf::from(path.trim()))
        .filter(|path| path.is_absolute())
        .collect();
    // Without `--trust-project` skills of a project are found but inactive: a cloned repository
    // must not address a model before the user has agreed.
    surroundings.project_trust = arguments.project_trust();
    surroundings
}

/// Returns the working directory of this process.
pub(crate) fn current_dir() -> anyhow::Result<PathBuf> {
    Ok(env::current_dir()?)
}

/// Returns the parent directory of scratch directories.
pub(crate) fn scratch_dir() -> PathBuf {
    env::temp_dir()
}
