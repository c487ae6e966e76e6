//! Packages that skills declare: the store of the user, indexes, and progress.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_runtime::{CallContext, PackageConfig};

use crate::process_environment::Environment;
use crate::settings::{PackageSettings, parse_package};
use crate::spinner::Spinner;

/// Returns the configuration of packages; `None` if the settings say that they are ignored, or without
/// a home directory.
pub(crate) fn package_config(
    settings: &PackageSettings,
    environment: &Environment,
) -> anyhow::Result<Option<PackageConfig>> {
    let store = environment.environments_dir();
    let Some(store) = store.filter(|_| !settings.is_ignored) else {
        return Ok(None);
    };
    let config = PackageConfig::new(resolve(&store)).allow_builds(settings.builds);
    let python_index = settings.python_index.iter();
    let config = python_index.fold(config, PackageConfig::python_index);
    let npm_registry = settings.npm_registry.iter();
    let config = npm_registry.fold(config, PackageConfig::npm_registry);
    let config = settings.hosts.iter().fold(config, PackageConfig::file_host);
    let mut of_skills = settings.of_skills.iter();
    Ok(Some(of_skills.try_fold(
        config,
        |config, (skill, packages)| {
            let listed = packages.iter().map(|text| parse_package(text));
            let listed = listed.collect::<Result<Vec<_>, _>>()?;
            anyhow::Ok(config.skill_packages(skill, listed))
        },
    )?))
}

/// Resolves symlinks of the directories that exist: the sandbox compares canonical paths.
fn resolve(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    match existing {
        Some((ancestor, resolved)) => match path.strip_prefix(ancestor) {
            Ok(rest) if rest.as_os_str().is_empty() => resolved,
            Ok(rest) => resolved.join(rest),
            Err(_) => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

/// Shows the phases of a setup on a terminal, in one line that is removed when the setup ends.
pub(crate) struct SetupProgress {
    spinner: Option<Spinner>,
}

impl SetupProgress {
    /// Adds progress to a call if standard error is a terminal.
    pub(crate) fn add_to(call: CallContext) -> (CallContext, Self) {
        let spinner = Spinner::on_terminal("{spinner} {msg} ({elapsed})");
        let progress = Self {
            spinner: spinner.clone(),
        };
        let Some(spinner) = spinner else {
            return (call, progress);
        };
        let report = move |phase: Option<&str>| match phase {
            Some(phase) => spinner.show(phase.to_owned(), 0),
            // The program prints after the setup, and the question is asked between its phases.
            None => spinner.clear(),
        };
        (call.progress(Arc::new(report)), progress)
    }
}

impl Drop for SetupProgress {
    fn drop(&mut self) {
        self.spinner.iter().for_each(Spinner::clear);
    }
}
