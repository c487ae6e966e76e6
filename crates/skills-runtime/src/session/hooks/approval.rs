//! Approval of hooks before an event needs them.

use skills_policy::{Authorization, Question};

use super::{DeclaredHooks, HookOptions, command_text, hook_options, title};
use crate::{ExecutionOptions, Executor, Preview, RuntimeError};

/// A hook of a skill and what it would be granted. Pass it to
/// [`approve_hook`](crate::SkillRuntime::approve_hook) to store a permanent approval.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HookPreview {
    /// The event and the command, as an approval names the hook.
    pub hook: String,
    /// The preview of its run, or why it cannot run.
    pub preview: Result<Preview, String>,
    options: ExecutionOptions,
}

/// Previews the hooks of a skill.
pub(crate) fn preview_hooks(
    executor: &Executor,
    name: &str,
    options: &HookOptions,
) -> Result<Vec<HookPreview>, RuntimeError> {
    let mut previews: Vec<HookPreview> = Vec::new();
    for hook in DeclaredHooks::read(executor, name)?.hooks {
        let title = title(&hook, &command_text(&hook));
        if previews.iter().any(|known| known.hook == title) {
            continue;
        }
        let prepared = hook_options(&hook, &options.execution);
        let preview = match &prepared {
            Ok(prepared) => executor
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

/// Stores a permanent approval of a hook for exactly the request that was shown.
pub(crate) fn approve_hook(
    executor: &Executor,
    name: &str,
    hook: &HookPreview,
    shown: &Question,
) -> Result<Authorization, RuntimeError> {
    executor.approve_hook(name, &hook.options, &hook.hook, shown)
}
