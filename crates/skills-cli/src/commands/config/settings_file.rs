//! Changes a settings file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use skills_runtime::PrivateFile;
use skills_runtime::discovery::Trust;
use skills_runtime::policy::RuleSource;
use skills_store::{FileMode, replace_file};
use toml_edit::DocumentMut;

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::policy_files::read_source_file;
use crate::process_environment::Environment;
use crate::state::{self, SettingsPaths};

/// The settings file that is changed.
#[derive(Debug, Args)]
pub(crate) struct TargetFile {
    /// Change the settings of the project
    #[arg(long)]
    project: bool,
}

impl TargetFile {
    pub(crate) const USER: Self = Self { project: false };

    pub(super) fn is_project(&self) -> bool {
        self.project
    }

    /// Changes the file. Comments and order are preserved. Nothing is written if `change` fails.
    pub(crate) fn edit(
        &self,
        context: &Context,
        change: impl FnOnce(&mut DocumentMut, &Path) -> Result<(), CommandError>,
    ) -> anyhow::Result<Exit> {
        let path = self.path(context)?;
        if self.project && path.parent().is_some_and(Path::is_symlink) {
            // It can lead to the settings of the user, which apply to all projects.
            let message = format!(
                "cannot change `{}`: its directory is a symlink",
                path.display()
            );
            return Err(CommandError::input(message).into());
        }
        let failed = || {
            let message = format!("cannot change `{}`", path.display());
            CommandError::new("io", Exit::Failed, message)
        };
        // Two commands at once must not lose a change.
        let _lock = lock(&context.environment).with_context(failed)?;
        let text = read_source_file(self.source(), &path, "settings file", Trust::Trusted)?
            .unwrap_or_default();
        let mut document: DocumentMut = text
            .parse()
            .map_err(|error| CommandError::input(format!("{}: {error}", path.display())))?;
        change(&mut document, &path)?;
        self.replace(&path, &document.to_string())
            .with_context(failed)?;
        context
            .output
            .status(&format!("changed {}", path.display()));
        Ok(Exit::Success)
    }

    /// Returns the file of the user, or that of the outermost directory of the project.
    fn path(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let paths = SettingsPaths::new(&context.environment);
        let path = if self.project {
            paths.project.first().cloned()
        } else {
            paths.user
        };
        let missing = || CommandError::input("no settings file: no home directory");
        Ok(path.ok_or_else(missing)?)
    }

    pub(super) fn source(&self) -> RuleSource {
        if self.project {
            RuleSource::Project
        } else {
            RuleSource::User
        }
    }

    /// Replaces the file atomically. A symlink stays, and so does the mode of the file. A new file
    /// of a project is shared, so it has the mode of other files; that of the user is private.
    fn replace(&self, path: &Path, text: &str) -> io::Result<()> {
        // A symlink of a project was rejected.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let mode = match path.metadata() {
            Ok(existing) => FileMode::Exact(existing.permissions()),
            Err(_) if self.project => FileMode::Umask,
            Err(_) => FileMode::Private,
        };
        replace_file(&path, text.as_bytes(), mode)
    }
}

/// Acquires the lock for changes of settings. It is in the state directory, since a project or a
/// directory of configuration can be under version control. Without a state directory there is
/// none.
fn lock(environment: &Environment) -> io::Result<Option<File>> {
    let path = state::settings_lock_path(environment);
    path.map(|path| PrivateFile::new(path).lock()).transpose()
}
