//! Changes a settings file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use skills_runtime::PrivateFile;
use skills_runtime::discovery::Trust;
use skills_runtime::policy::RuleSource;
use tempfile::NamedTempFile;
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
    /// The settings of the user.
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
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        let mut file = self.create_temporary(directory)?;
        file.write_all(text.as_bytes())?;
        if let Ok(existing) = path.metadata() {
            file.as_file().set_permissions(existing.permissions())?;
        }
        // Without the sync, a crash of the system could leave an empty file under the final name.
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    #[cfg(unix)]
    fn create_temporary(&self, directory: &Path) -> io::Result<NamedTempFile> {
        let mode = if self.project { 0o666 } else { 0o600 };
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        tempfile::Builder::new()
            // The umask restricts it.
            .permissions(mode)
            .tempfile_in(directory)
    }

    #[cfg(not(unix))]
    fn create_temporary(&self, directory: &Path) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(directory)
    }
}

/// Acquires the lock for changes of settings. It is in the state directory, since a project or a
/// directory of configuration can be under version control. Without a state directory there is
/// none.
fn lock(environment: &Environment) -> io::Result<Option<File>> {
    let path = state::settings_lock_path(environment);
    path.map(|path| PrivateFile::new(path).lock()).transpose()
}
