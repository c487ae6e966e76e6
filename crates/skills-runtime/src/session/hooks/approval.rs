//! Approval of hooks before an event needs them.

use skills_policy::{ApprovalRequest, Authorization};

use super::{HookOptions, command_text, declared_hooks, hook_options, title};
use crate::{ExecutionOptions, Preview, RuntimeError, SkillRuntime};

/// A hook of a skill and what it would be granted. Pass it to
/// [`approve_hook`](SkillRuntime::approve_hook) to store a permanent approval.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HookPreview {
    /// The event and the command, as an approval names the hook.
    pub hook: String,
    /// The preview of its run, or why it cannot run.
    pub preview: Result<Preview, String>,
    options: ExecutionOptions,
}

impl SkillRuntime {
    /// Previews the hooks of a skill, in the order of their declaration, without asking an approver
    /// or running anything. Hooks with the same event and command are listed once.
    ///
    /// # Errors
    /// Same as [`run_hooks`](Self::run_hooks).
    pub fn preview_hooks(
        &self,
        name: &str,
        options: &HookOptions,
    ) -> Result<Vec<HookPreview>, RuntimeError> {
        let mut previews: Vec<HookPreview> = Vec::new();
        for hook in declared_hooks(self.executor(), name)? {
            let title = title(&hook, &command_text(&hook));
            if previews.iter().any(|known| known.hook == title) {
                continue;
            }
            let prepared = hook_options(&hook, &options.execution);
            let preview = match &prepared {
                Ok(prepared) => self
                    .executor()
                    .preview_hook(name, prepared, &title)
                    .map_err(|error| error.to_string()),
                Err(reason) => Err((*reason).to_owned()),
            };
            previews.push(HookPreview {
                hook: title,
                preview,
                options: prepared.unwrap_or_default(),
            });
        }
        Ok(previews)
    }

    /// Stores a permanent approval of a hook for exactly the request that was shown; see
    /// [`Executor::approve`](crate::Executor::approve). The requests of the other hooks change with it, so preview them
    /// again.
    ///
    /// # Errors
    /// Same as [`Executor::approve`](crate::Executor::approve).
    pub fn approve_hook(
        &self,
        name: &str,
        hook: &HookPreview,
        shown: &ApprovalRequest,
    ) -> Result<Authorization, RuntimeError> {
        self.executor()
            .approve_hook(name, &hook.options, &hook.hook, shown)
    }
}
