//! The file that remembers from where skills were installed.

use skills_install::KnownSources;
use skills_runtime::PrivateFile;

use super::error::failed;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::line;
use crate::state;

/// The sources of all skills that the user installed. Without a state directory nothing is remembered.
pub(crate) struct SourceMemory {
    file: Option<PrivateFile>,
}

impl SourceMemory {
    pub(crate) fn new(context: &Context) -> Self {
        Self {
            file: state::known_sources_path(&context.environment).map(PrivateFile::new),
        }
    }

    pub(crate) fn read(&self) -> anyhow::Result<KnownSources> {
        match &self.file {
            Some(file) => read(file),
            None => Ok(KnownSources::default()),
        }
    }

    /// Changes what is remembered, while no other process does.
    pub(crate) fn change(&self, change: impl FnOnce(&mut KnownSources)) -> anyhow::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let cannot_write = |error: std::io::Error| {
            let path = line(&file.path().to_string_lossy());
            let message = format!("cannot write `{path}`: {error}");
            CommandError::new("io", Exit::Failed, message)
        };
        let _lock = file.lock().map_err(cannot_write)?;
        let before = read(file)?;
        let mut known = before.clone();
        change(&mut known);
        if known == before {
            return Ok(());
        }
        let text = known.render().map_err(failed)?;
        Ok(file.replace(&text).map_err(cannot_write)?)
    }
}

fn read(file: &PrivateFile) -> anyhow::Result<KnownSources> {
    let path = file.path().to_string_lossy();
    let text = file.read().map_err(|error| {
        let message = format!("cannot read `{}`: {error}", line(&path));
        CommandError::new("io", Exit::Failed, message)
    })?;
    match text {
        Some(text) => KnownSources::parse(&text, &path).map_err(failed),
        None => Ok(KnownSources::default()),
    }
}
