//! The state of a tool set.

use std::sync::Arc;

use skills_runtime::{Catalog, SkillRuntime};

use super::active_skills::ActiveSkills;
use crate::kept_outputs::KeptOutputs;
use crate::overrides::OverrideError;
use crate::publication::Publisher;
use crate::registry::{ScriptScanner, ScriptToolRegistry};
use crate::run::{HookMode, ProgramRunner};
use crate::tools::{BuiltinTool, builtin_tools};
use crate::virtual_files::VirtualFiles;
use crate::{CallContext, ToolGroup, ToolOutput};

/// What the handles of a tool set share.
pub(super) struct Inner {
    /// Runs programs, and has the files that all tools work on.
    pub(super) programs: ProgramRunner,
    pub(super) publisher: Publisher,
    pub(super) script_scanner: Arc<ScriptScanner>,
    pub(super) hooks: HookMode,
    pub(super) active_skills: Arc<ActiveSkills>,
    pub(super) kept_outputs: Arc<KeptOutputs>,
}

impl Inner {
    pub(super) fn files(&self) -> &VirtualFiles {
        &self.programs.files
    }

    pub(super) fn runtime(&self) -> &SkillRuntime {
        &self.programs.files.runtime
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.runtime().library().current_catalog()
    }

    pub(super) fn has_group(&self, group: ToolGroup) -> bool {
        self.files().groups.contains(&group)
    }

    /// Returns whether the tools of scripts can be called. Whether they are listed depends on the
    /// group.
    pub(super) fn has_script_tools(&self) -> bool {
        self.has_group(ToolGroup::ScriptTools) || self.has_group(ToolGroup::LoadedScripts)
    }

    pub(super) fn registry(
        &self,
        catalog: &Arc<Catalog>,
    ) -> Result<ScriptToolRegistry, OverrideError> {
        Ok(ScriptToolRegistry::new(
            self.script_scanner.index(catalog),
            self.programs.overrides.snapshot()?,
            self.programs.default_script_state,
        ))
    }

    /// Keeps the output of a program that the client of the session is shown in part, if it has
    /// `skills_read` for the rest of it.
    pub(super) fn keep_output(&self, output: &mut ToolOutput, context: &CallContext) {
        let (Some(session), Some(max_bytes)) = (context.session_id(), context.text_limit()) else {
            return;
        };
        if self.has_group(ToolGroup::Core) || self.has_group(ToolGroup::Workspace) {
            output.keep_output(max_bytes, |text| self.kept_outputs.keep(session, text));
        }
    }

    /// Returns the enabled built-in tools.
    pub(super) fn builtin_tools(&self) -> Vec<&'static BuiltinTool> {
        builtin_tools(&self.files().groups)
    }
}
