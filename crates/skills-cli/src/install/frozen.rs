//! `--frozen`: the skills must be those of their lock files.

use std::collections::BTreeSet;

use skills_install::SkillState;
use skills_runtime::Catalog;
use skills_runtime::discovery::InactiveReason;

use super::target::{roots_to_verify, verify};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::line;

/// Fails if a locked skill has other content than its lock file requires or is missing, or if a skill
/// is not listed by the lock file of its root.
pub(crate) fn check_frozen(context: &Context) -> anyhow::Result<()> {
    let runtime = context.build(context.unrecorded_builder()?);
    let mut problems = changed_skills(&runtime.library().catalog());
    // Also those of untrusted roots, which the scan does not compare.
    for root in roots_to_verify(None, context)? {
        let verification = verify(&root, context)?;
        problems.extend(verification.skills().iter().filter_map(problem));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let problems: Vec<String> = problems.into_iter().collect();
    let message = format!(
        "skills differ from their lock file: {}",
        problems.join(", ")
    );
    Err(CommandError::new("frozen", Exit::Denied, message)
        .with_help("`skills verify --frozen` lists them, and `skills add --frozen --theirs` restores what the lock file lists, without your edits")
        .into())
}

/// Returns the skills that a scan found changed, also by a lock file that is outside of the roots.
fn changed_skills(catalog: &Catalog) -> BTreeSet<String> {
    let inactive = catalog.inactive().iter();
    let changed = inactive.filter(|inactive| {
        matches!(
            inactive.reason(),
            InactiveReason::Changed { .. } | InactiveReason::LockUnreadable { .. }
        )
    });
    changed
        .map(|inactive| {
            format!(
                "`{}` is {}",
                inactive.entry().name(),
                inactive.reason().code()
            )
        })
        .collect()
}

fn problem((path, state): (&String, &SkillState)) -> Option<String> {
    let problem = match state {
        SkillState::Unchanged => return None,
        SkillState::Unlocked => "is not in the lock file",
        SkillState::Missing => "is missing",
        _ => "is changed",
    };
    Some(format!("`{}` {problem}", line(path)))
}

/// Rejects a command that changes lock files.
pub(crate) fn reject_frozen(context: &Context) -> anyhow::Result<()> {
    if !context.options.frozen {
        return Ok(());
    }
    let message = "this command changes `skills.lock`, which `--frozen` forbids";
    Err(CommandError::new("frozen", Exit::Denied, message)
        .with_help("run it without `--frozen`")
        .into())
}
