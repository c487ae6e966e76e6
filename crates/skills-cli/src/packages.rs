//! Packages that skills declare: the store of the user, indexes, and progress.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use skills_runtime::{CallContext, PackageConfig};

use crate::process_environment::Environment;
use crate::settings::{PackageSettings, parse_package};

/// How often the line is drawn while nothing happens.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

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
    shown: Arc<Mutex<Option<ProgressBar>>>,
}

impl SetupProgress {
    /// Adds progress to a call if standard error is a terminal.
    pub(crate) fn add_to(call: CallContext) -> (CallContext, Self) {
        let shown: Arc<Mutex<Option<ProgressBar>>> = Arc::default();
        let progress = Self {
            shown: Arc::clone(&shown),
        };
        if !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            return (call, progress);
        }
        let report = move |phase: Option<&str>| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            // The program prints after the setup, and the question is asked between its phases.
            let Some(phase) = phase else {
                if let Some(bar) = shown.take() {
                    bar.finish_and_clear();
                }
                return;
            };
            shown
                .get_or_insert_with(new_bar)
                .set_message(phase.to_owned());
        };
        (call.progress(Arc::new(report)), progress)
    }
}

impl Drop for SetupProgress {
    fn drop(&mut self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = shown.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    // Its thread panics if the system does not start it; without one the bar moves with the work.
    if skills_threads::check(1).is_ok() {
        bar.enable_steady_tick(TICK_INTERVAL);
    }
    bar
}
