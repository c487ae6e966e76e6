//! A run that its caller plans before it starts.

use std::path::{Path, PathBuf};

use skills_manifest::Hook;
use skills_sandbox::ScriptType;

use crate::artifacts::ExecutionArtifacts;
use crate::drive;
use crate::error::RuntimeError;
use crate::execution_mode::ExecutionMode;
use crate::executor::Executor;
use crate::options::ExecutionOptions;
use crate::plan::Planned;
use crate::preview::{PlannedContent, Preview};
use crate::run_handle::RunHandle;

/// A run that [`Executor::plan`] planned, and that has not started: for callers that decide by its
/// program whether it starts, or what happens before.
///
/// The plan has what the `SKILL.md` requested and what the options select, and is not planned again.
/// Everything that can change until the start is read when it starts: the content of the skill, what
/// the host has, protected files and files with keys. A run fails with
/// [`ErrorKind::ContentChanged`](crate::ErrorKind::ContentChanged) if the frontmatter or the
/// requirements of its skill changed since the plan.
///
/// Dropping it runs nothing, and leaves no audit record: the record of a run begins when the run starts.
#[must_use]
pub struct PlannedRun(Box<Planned>);

impl PlannedRun {
    pub(crate) fn new(planned: Planned) -> Self {
        Self(Box::new(planned))
    }

    /// Returns the name of the skill.
    #[must_use]
    pub fn skill(&self) -> &str {
        self.0.name()
    }

    /// Returns the directory of the skill, which identifies it among skills of the same name.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.0.subject().directory()
    }

    /// Returns the hooks that the skill declares, in the order of their declaration.
    #[must_use]
    pub fn hooks(&self) -> &[Hook] {
        let skill = self.0.skill();
        skill.map_or(&[], |skill| &skill.manifest.extensions().hooks)
    }

    /// Returns the program that would run.
    #[must_use]
    pub fn mode(&self) -> &ExecutionMode {
        self.0.mode()
    }

    /// Returns the options of the run, with resolved paths and the selected sandbox. The plan took the
    /// standard input out of them.
    #[must_use]
    pub fn options(&self) -> &ExecutionOptions {
        self.0.options()
    }

    /// Returns an executor like the one that planned the run, with the interpreters that were
    /// [chosen](Self::with_interpreter) for it.
    #[must_use]
    pub fn executor(&self) -> Executor {
        Executor::from_services(self.0.services().clone())
    }

    /// Runs scripts of a type with the interpreter at this absolute path, such as that of a virtual
    /// environment, in place of those of the configuration. Programs can read what it needs to start,
    /// and no rule is asked, so the path must come from the user. Containers have interpreters of their
    /// own.
    pub fn with_interpreter(self, script_type: ScriptType, path: impl Into<PathBuf>) -> Self {
        Self::new(self.0.with_interpreter(script_type, path.into()))
    }

    /// Previews the run; the same as [`Executor::preview`].
    #[must_use]
    pub fn preview(&self) -> Preview {
        PlannedContent::new(&self.0).preview()
    }

    /// Runs the program; see [`Executor::execute`].
    ///
    /// # Errors
    /// Same as [`Executor::execute`]; also if the frontmatter or the requirements of the skill changed
    /// since the plan. Then nothing ran.
    pub async fn execute(self) -> Result<ExecutionArtifacts, RuntimeError> {
        drive::run_planned(*self.0, None).await
    }

    /// Starts the program, and returns while it runs; see [`Executor::start`]. Must be called in a Tokio
    /// runtime.
    pub fn start(self) -> RunHandle {
        RunHandle::start_planned(*self.0)
    }
}
