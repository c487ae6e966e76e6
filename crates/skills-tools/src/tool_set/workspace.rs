//! Other workspaces for the same tools.

use std::path::Path;
use std::sync::Arc;

use skills_runtime::Policy;

use super::builder::{Repr, check_directories};
use super::{Inner, ToolSet};
use crate::catalog_tools::CatalogTools;
use crate::publication::Publisher;
use crate::run::{ProgramTools, Remedies, Remedy};
use crate::{Mount, ToolSetBuildError};

impl ToolSet {
    /// Returns the canonical path of the workspace, if there is one. For the host application, not
    /// for a model.
    #[must_use]
    pub fn workspace_directory(&self) -> Option<&Path> {
        let workspace = self.inner.files.workspace();
        workspace.map(|workspace| workspace.path.as_path())
    }

    /// Returns these tools with another workspace, for one client of several or after a client has
    /// changed its project. Performs blocking I/O.
    ///
    /// Both tool sets share skills, mounts with their write quotas, sessions and their approvals.
    /// `policy` and `describe` replace the [policy](crate::runtime::Builder::policy) and the
    /// [remedies](crate::ToolSetBuilder::remedies), which can name the workspace.
    ///
    /// ```
    /// use serde_json::json;
    /// use skills_tools::runtime::{Policy, SkillRuntime};
    /// use skills_tools::{CallContext, Mount, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// std::fs::write(directory.path().join("notes.txt"), "hello")?;
    /// let tools = ToolSet::builder(SkillRuntime::builder().build()).build()?;
    /// assert!(tools.workspace_directory().is_none());
    ///
    /// let workspace = Mount::writable("workspace", directory.path());
    /// let of_client = tools.with_workspace(workspace, Policy::default(), |_| None)?;
    /// let (path, context) = (json!({"path": "notes.txt"}), CallContext::default());
    /// let read = of_client.call("skills_read", path, &context).await?;
    /// assert_eq!(read.structured["content"], "hello");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`build`](crate::ToolSetBuilder::build).
    pub fn with_workspace(
        &self,
        workspace: Mount,
        policy: Policy,
        describe: impl Fn(&Remedy) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, ToolSetBuildError> {
        let inner = &self.inner;
        let programs = &inner.program_tools;
        let runtime = inner.runtime.with_policy(policy);
        let files = inner.files.with_workspace(workspace, runtime.clone());
        let files = Arc::new(files.map_err(Repr::from)?);
        check_directories(
            &runtime,
            files.drafts_dir.as_deref(),
            files.skill_writes,
            files.mount_table(),
        )?;
        let program_tools = ProgramTools {
            runtime: runtime.clone(),
            files: Arc::clone(&files),
            overrides: Arc::clone(&inner.overrides),
            default_script_state: inner.default_script_state,
            sessions: Arc::clone(&programs.sessions),
            options: programs.options.clone(),
            remedies: Remedies::new(describe),
        };
        let catalog_tools = CatalogTools {
            runtime: runtime.clone(),
            files: Arc::clone(&files),
            groups: inner.groups.clone(),
        };
        let publisher = Publisher::new(runtime.library().clone(), Arc::clone(&files));
        Ok(Self {
            inner: Arc::new(Inner {
                runtime,
                files,
                catalog_tools,
                publisher,
                program_tools: Arc::new(program_tools),
                script_scanner: Arc::clone(&inner.script_scanner),
                overrides: Arc::clone(&inner.overrides),
                default_script_state: inner.default_script_state,
                groups: inner.groups.clone(),
                hooks: inner.hooks,
                active_skills: Arc::clone(&inner.active_skills),
            }),
        })
    }
}
