//! Skills that a user invokes by name.

use skills_runtime::discovery::Lookup;
use skills_runtime::{Catalog, Entry, SkillRuntime, TextPart};

use crate::sanitize::{short_description, whole_description};
use crate::skill_text::SkillText;
use crate::virtual_path::escape_for_display;
use crate::{ToolError, ToolErrorCode};

/// Describes a skill that a user can invoke by name.
///
/// Skills that are not model-invocable are included: invoking them is up to the user alone. Clients
/// usually list them as slash commands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillPrompt {
    /// The name of the skill, which is unique.
    pub name: String,
    /// The whole description on one line, without invisible characters; truncated after 1,024
    /// characters, the maximum of the Agent Skills specification.
    pub description: String,
    /// What to type after the name, as declared by the skill.
    pub argument_hint: Option<String>,
}

/// The text for a model when a user invokes a skill.
///
/// Send [`text`](Self::text) before [`request`](Self::request), and keep them separate: the text is
/// the skill author's, the request is the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The description of the skill, as in [`SkillPrompt::description`].
    pub description: String,
    /// The text of the skill, inside delimiters that it cannot close.
    pub text: String,
    /// Whether the text is truncated; the text itself says what is omitted.
    pub is_truncated: bool,
    /// The request of the user, in the words that follow the skill's name.
    pub request: String,
}

/// Returns the skills that a user can invoke, in the order of the catalog, without ambiguous names.
pub(crate) fn list_prompts(runtime: &SkillRuntime, catalog: &Catalog) -> Vec<SkillPrompt> {
    let callable = catalog
        .entries()
        .iter()
        .filter(|entry| runtime.library().is_user_invocable(entry));
    // Clients address prompts by name and cannot choose between two.
    let unambiguous = callable.filter(|entry| {
        matches!(
            catalog.find_by_name(entry.name().as_str()),
            Lookup::Found(_)
        )
    });
    unambiguous.map(SkillPrompt::from_entry).collect()
}

/// Renders the text for a model when a user invokes a skill.
pub(crate) fn render_prompt(
    runtime: &SkillRuntime,
    catalog: &Catalog,
    name: &str,
    arguments: &str,
) -> Result<RenderedPrompt, ToolError> {
    let not_found = || {
        ToolErrorCode::SkillNotFound.error(format!(
            "skill `{}` not found or not user-invocable",
            escape_for_display(name)
        ))
    };
    let entry = match catalog.find_by_name(name) {
        Lookup::Found(entry) if runtime.library().is_user_invocable(entry) => entry,
        _ => return Err(not_found()),
    };
    let SkillText {
        text,
        next_offset,
        manifest,
    } = SkillText::load(runtime, entry, TextPart::default())?;
    // Checked again: the file may have changed since the catalog was scanned.
    if !manifest.user_invocable() {
        return Err(not_found());
    }
    let (name, input) = (entry.name(), arguments.trim());
    // Not substituted into the skill: the text of the author must stay separate from that of the
    // user.
    let request = if input.is_empty() {
        format!("Use the skill {name}.")
    } else {
        format!("Use the skill {name}: {input}")
    };
    Ok(RenderedPrompt {
        description: SkillPrompt::from_entry(entry).description,
        text,
        is_truncated: next_offset.is_some(),
        request,
    })
}

impl SkillPrompt {
    fn from_entry(entry: &Entry) -> Self {
        let manifest = entry.manifest();
        let hint = manifest
            .extensions()
            .argument_hint
            .as_deref()
            .map(short_description);
        Self {
            name: entry.name().to_string(),
            description: whole_description(manifest.description()),
            argument_hint: hint.filter(|hint| !hint.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_runtime::{Root, Scope};

    use super::*;
    use crate::mount::MountTable;
    use crate::tool::FileCall;
    use crate::tools::load_skill;
    use crate::virtual_files::VirtualFiles;

    /// The catalog may be outdated while a watcher is active.
    #[test]
    fn restrictions_at_the_time_of_reading_apply() {
        let directory = tempfile::tempdir().unwrap();
        let top =
            cap_std::fs::Dir::open_ambient_dir(directory.path(), cap_std::ambient_authority())
                .unwrap();
        let write = |extra: &str| {
            top.write(
                "a/SKILL.md",
                format!("---\nname: a\ndescription: d\n{extra}---\n"),
            )
            .unwrap()
        };
        top.create_dir("a").unwrap();
        write("");
        let runtime = SkillRuntime::builder()
            .root(Root::new(directory.path(), Scope::Custom))
            .build();
        let files = VirtualFiles::new(runtime.clone(), MountTable::default());
        let catalog = runtime.library().refresh();
        let _watcher = runtime.library().generations().register_watcher();
        let load = || {
            let context = FileCall {
                files: &files,
                session: None,
                loaded: &[],
                outputs: None,
                max_text_bytes: None,
            };
            load_skill::call(context, serde_json::json!({"name": "a"}))
        };
        assert!(render_prompt(&runtime, &catalog, "a", "").is_ok() && load().is_ok());
        write("user-invocable: false\n");
        assert_eq!(
            render_prompt(&runtime, &catalog, "a", "").unwrap_err().code,
            ToolErrorCode::SkillNotFound
        );
        write("disable-model-invocation: true\n");
        assert_eq!(load().unwrap_err().code, ToolErrorCode::PermissionDenied);
        assert!(render_prompt(&runtime, &catalog, "a", "").is_ok());
    }
}
