//! The question whether a skill of a project that is not trusted may be used.

use skills_runtime::SkillRuntime;
use skills_runtime::discovery::{Lookup, TrustedSkill};
use skills_runtime::policy::Question;

use crate::approver;
use crate::context::Context;
use crate::output::line;
use crate::trusted_skills::TrustedSkillStore;

/// Asks the user of a terminal whether a skill may be used with its present content, if it waits for the
/// trust of its project, and activates it. Without a terminal, and for other skills, nothing is asked.
///
/// # Errors
/// Fails if the user declines, and if the skill cannot be read.
pub(super) fn ask_for_trust(
    runtime: &SkillRuntime,
    name: &str,
    context: &Context,
) -> anyhow::Result<()> {
    let (library, output) = (runtime.library(), context.output);
    let catalog = library.catalog();
    let Lookup::Inactive(inactive) = catalog.find(name) else {
        return Ok(());
    };
    let store = TrustedSkillStore::new(&context.environment);
    let Some(store) = store.filter(|_| inactive.is_of_untrusted_project()) else {
        return Ok(());
    };
    if output.is_json() || !approver::is_terminal() {
        return Ok(());
    }
    // What is shown is what is trusted, also if it changes meanwhile.
    let skill = TrustedSkill::read(inactive.entry())?;
    let names = vec![inactive.entry().name().to_string()];
    let digest = skill.digest().to_string();
    let question = Question::about_project_skills(store.project(), names, digest);
    let declined = format!("`{}` is not trusted", line(name));
    let confirmation = "Use it until its content changes? [y/N]";
    approver::require_consent(&question, confirmation, &declined, output)?;
    if let Err(error) = store.add(std::slice::from_ref(&skill)) {
        output.status(&format!("warning: the answer is not kept: {error}"));
    }
    library.discovery().trusted_skills().add([skill]);
    library.refresh();
    Ok(())
}
