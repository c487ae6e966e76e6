//! When to run a script: what a model is told that has a tool for it.

use crate::sanitize::escape_line;

/// The most skills that are named.
const MAX_SKILLS: usize = 50;
/// The most scripts of one skill that are named.
const MAX_SCRIPTS: usize = 20;

/// A skill and the scripts that the tool can run.
#[derive(Debug, Clone, Copy)]
pub struct SkillScripts<'a> {
    /// The skill's name.
    pub skill: &'a str,
    /// Its scripts; a skill without any is not named.
    pub scripts: &'a [&'a str],
}

/// Writes the section that tells a model when to run a script of a skill (the strategy "L4" of the
/// script engine), as part of a system prompt. `tool` is the name of the tool that runs them.
///
/// At most 50 skills are named, and 20 scripts of each. Empty when no skill has a script: a model
/// must not be told of a tool that it has no use for.
#[must_use]
pub fn script_tool_instructions(tool: &str, skills: &[SkillScripts<'_>]) -> String {
    let with_scripts = || skills.iter().filter(|skill| !skill.scripts.is_empty());
    let mut lines: Vec<String> = with_scripts().take(MAX_SKILLS).map(skill_line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = with_scripts().count() - lines.len();
    if more > 0 {
        lines.push(format!(
            "({more} more skills have scripts; their instructions name them)"
        ));
    }
    let (tool, list) = (escape_line(tool), lines.join("\n"));
    format!(
        "## Scripts of skills\n\
         - When the instructions of a skill say to run a script or to calculate something, call `{tool}` with the skill, the script and its \
         arguments. Take the arguments from the task; do not do the calculation yourself.\n\
         - Read the skill's instructions first: they say which arguments a script takes.\n\
         - Use what the script returns as it is. When it fails, say so with its message; do not make up a result.\n\
         - Scripts run in a sandbox. What is denied there is not to be tried another way.\n\
         ### Scripts\n{list}\n"
    )
}

fn skill_line(skill: &SkillScripts<'_>) -> String {
    let scripts: Vec<String> = skill
        .scripts
        .iter()
        .take(MAX_SCRIPTS)
        .map(|script| escape_line(script))
        .collect();
    let more = skill.scripts.len().saturating_sub(MAX_SCRIPTS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let name = escape_line(skill.skill).replace(": ", ":");
    format!("- {name}: {}{more}", scripts.join(", "))
}
