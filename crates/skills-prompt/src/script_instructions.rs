//! Instructions for a model that has a tool for running scripts.

use std::borrow::Cow;

use crate::sanitize::{escape_tags, without_separator};

/// The maximum number of skills in the list.
const MAX_SKILLS: usize = 50;
/// The maximum number of scripts of one skill in the list.
const MAX_SCRIPTS: usize = 20;

/// A skill with the scripts that the tool can run, as an argument of
/// [`script_tool_instructions`].
///
/// Names are put on one line and escaped.
#[derive(Debug, Clone, Copy)]
pub struct SkillScripts<'a> {
    /// The name of the skill.
    pub skill: &'a str,
    /// The names of its scripts; a skill without scripts is not listed.
    pub scripts: &'a [&'a str],
}

/// Renders the section of a system prompt that tells a model when to run a script of a skill (the
/// strategy "L4" of the script engine).
///
/// `tool` is the name of the tool that runs scripts. At most 50 skills are listed, with 20 scripts
/// each; further ones are counted. The text is empty if no skill has a script, since a model
/// should not read about a tool that it has no use for.
///
/// ```
/// use skills_prompt::{SkillScripts, script_tool_instructions};
///
/// let skills = [SkillScripts { skill: "pdf", scripts: &["fill.py", "merge.py"] }];
/// let section = script_tool_instructions("run_skill_script", &skills);
/// assert!(section.ends_with("### Scripts\n- pdf: fill.py, merge.py\n"));
/// assert_eq!(script_tool_instructions("run_skill_script", &[]), "");
/// ```
#[must_use]
pub fn script_tool_instructions(tool: &str, skills: &[SkillScripts<'_>]) -> String {
    let with_scripts = || skills.iter().filter(|skill| !skill.scripts.is_empty());
    let mut lines: Vec<String> = with_scripts().take(MAX_SKILLS).map(skill_line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = with_scripts().count() - lines.len();
    if more > 0 {
        // A model that does not find a script in the list should not conclude that there is none.
        lines.push(format!(
            "({more} more skills have scripts; their instructions name them)"
        ));
    }
    let (tool, list) = (escape_tags(tool), lines.join("\n"));
    format!(
        "## Scripts of skills\n\
         - When the instructions of a skill say to run a script or to calculate something, call `{tool}` with the skill, the script and its \
         arguments. Take the arguments from the task; do not do the calculation yourself.\n\
         - Read the skill's instructions first: they say which arguments a script takes.\n\
         - Use what the script returns as it is. When it fails, say so with its message; do not make up a result.\n\
         - Scripts run in a sandbox. If the sandbox denies something, do not try another way.\n\
         ### Scripts\n{list}\n"
    )
}

fn skill_line(skill: &SkillScripts<'_>) -> String {
    let scripts: Vec<String> = skill
        .scripts
        .iter()
        .take(MAX_SCRIPTS)
        .map(|script| escape_tags(script))
        .collect();
    let more = skill.scripts.len().saturating_sub(MAX_SCRIPTS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let name = without_separator(Cow::Owned(escape_tags(skill.skill)));
    format!("- {name}: {}{more}", scripts.join(", "))
}
