//! `skills_create`: creates a draft skill.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::{Value, json};
use skills_runtime::discovery::SKILL_FILE;
use skills_runtime::manifest::{Draft, DraftError, DraftErrorKind};
use skills_threads::lock;

use crate::files::write::{self, WriteMode, WriteRequest};
use crate::files::{io_error, temporary};
use crate::schema;
use crate::tool::{Call, FileCall, HookView, Tool, parse_arguments, text_argument};
use crate::tool_definition::Annotations;
use crate::virtual_files::{SkillWrites, VirtualFiles};
use crate::virtual_path::escape_for_display;
use crate::{ToolError, ToolErrorCode, ToolGroup, ToolOutput};

/// Maximum number of scripts of a new skill; more can be added with `skills_write`.
const MAX_SCRIPTS: usize = 20;
/// Maximum size of a script in bytes: 1 MiB, as for one write.
const MAX_SCRIPT_BYTES: usize = 1 << 20;
/// Maximum length of a script's name, in characters.
const MAX_SCRIPT_NAME_CHARS: usize = 64;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateArguments {
    name: String,
    description: String,
    instructions: String,
    license: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    scripts: BTreeMap<String, String>,
}

pub(crate) const TOOL: Tool = Tool {
    name: "skills_create",
    groups: &[ToolGroup::Workspace],
    title: "Create a skill",
    description: "Create a draft skill with a SKILL.md and scripts. It can be read and edited, and does not run until a user accepts it. \
                  Existing skills are never replaced.",
    annotations: Annotations::ADDITIVE,
    input_schema: || {
        let name_rule = "At most 64 lowercase letters, digits and single inner hyphens, starting with a letter, such as `code-reviewer` or `pdf2image`.";
        schema::input_schema(
            json!({
                // No pattern: an invalid name gets an error that explains the rule.
                "name": {"type": "string", "description": name_rule},
                "description": {"type": "string", "minLength": 1, "maxLength": 1024,
                                "description": "What the skill does and when to use it, on one line."},
                "instructions": {"type": "string", "maxLength": 65536,
                                 "description": "Markdown body of the SKILL.md, without frontmatter."},
                "license": {"type": "string", "minLength": 1, "maxLength": 200, "description": "License name or file."},
                "metadata": {"type": "object", "maxProperties": 50, "additionalProperties": {"type": "string", "maxLength": 1024}, "description": "Further frontmatter metadata."},
                "scripts": {"type": "object", "maxProperties": MAX_SCRIPTS,
                            "additionalProperties": {"type": "string", "maxLength": MAX_SCRIPT_BYTES},
                            "description": "Contents by file name; a name without an extension is a Python script."},
            }),
            &["name", "description", "instructions"],
        )
    },
    output_schema: || {
        schema::output_schema(
            json!({
                "status": {"const": "created"},
                "name": {"type": "string"},
                "path": {"type": "string"},
                "uri": {"type": "string"},
            }),
            &["status", "name", "path", "uri"],
        )
    },
    lists_skills: false,
    guide: &[],
    hooks: Some(HookView {
        fields: |arguments| {
            let path = format!("/skills/{}/SKILL.md", text_argument(arguments, "name"));
            let content = text_argument(arguments, "instructions");
            vec![("file_path", json!(path)), ("content", json!(content))]
        },
        ..HookView::new("Write")
    }),
    call: Call::Files(call),
};

/// Creates a draft.
pub(super) fn call(
    FileCall { files, .. }: FileCall<'_>,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let arguments: CreateArguments = parse_arguments(arguments)?;
    let draft = render_draft(&arguments).map_err(|error| draft_error(&error))?;
    let path = format!("/skills/{}", draft.name());
    let mut draft_files = vec![(vec![SKILL_FILE.to_owned()], draft.render())];
    for (name, content) in validate_scripts(&arguments.scripts)? {
        draft_files.push((vec!["scripts".to_owned(), name], content.to_owned()));
    }
    // Held from the check of the name to the rename, so that two calls cannot create the same
    // skill.
    let _write_guard = lock(&files.write_lock);
    check_name_free(files, draft.name())?;
    let drafts = open_drafts(files, &path)?;
    let bytes = draft_files
        .iter()
        .map(|(_, content)| content.len() as u64)
        .sum();
    let quota_exceeded = |remaining| {
        ToolErrorCode::TooLarge.error_at(
            &path,
            format!("cannot write '{path}': {remaining} bytes left in the write quota of skills"),
        )
    };
    // Reserved before writing, so that concurrent calls cannot exceed the quota together.
    files.skill_quota.reserve(bytes).map_err(quota_exceeded)?;
    build_draft(&drafts, draft.name(), &draft_files, &path)
        .inspect_err(|_| files.skill_quota.release(bytes))?;
    // The next call must find the draft, even while a watcher has not reported it yet.
    files.rescan_after_write();
    let uri = format!("skill://{}/{SKILL_FILE}", draft.name());
    let data = json!({"status": "created", "name": draft.name(), "path": path, "uri": uri});
    let mut output = ToolOutput::new(data.to_string(), data);
    output.files = draft_files
        .iter()
        .map(|(parts, _)| format!("{path}/{}", parts.join("/")))
        .collect();
    Ok(output)
}

/// Returns true if a model can create drafts: the tool is listed, and the host application has a
/// directory for them.
pub(super) fn is_available(files: &VirtualFiles) -> bool {
    let is_listed = files.groups.iter().any(|group| TOOL.groups.contains(group));
    is_listed && drafts_dir(files).is_some()
}

fn drafts_dir(files: &VirtualFiles) -> Option<&PathBuf> {
    let drafts = files.drafts_dir.as_ref();
    drafts.filter(|_| files.skill_writes != SkillWrites::Never)
}

/// Rejects the name of any existing skill, in whatever root it is and whether it is active or
/// not.
fn check_name_free(files: &VirtualFiles, name: &str) -> Result<(), ToolError> {
    let is_taken = files
        .runtime
        .library()
        // Not the cached catalog: another process may have added the skill.
        .refresh()
        // Inactive skills count, too: a draft could otherwise take the name of a disabled skill
        // and be accepted in its place.
        .all_entries()
        .any(|entry| entry.name().as_str() == name);
    if is_taken {
        Err(name_taken_error(name))
    } else {
        Ok(())
    }
}

fn open_drafts(files: &VirtualFiles, display_path: &str) -> Result<Dir, ToolError> {
    let Some(path) = drafts_dir(files) else {
        let message = "cannot create skills: not enabled by the operator";
        return Err(ToolErrorCode::ReadOnly
            .error_at(display_path, message)
            .with_hint("write the files to the workspace and ask your user to install them"));
    };
    // The path is configured by the host application, so ambient authority is right here.
    Dir::create_ambient_dir_all(path, ambient_authority())
        .map_err(|error| io_error(&error, display_path))?;
    Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| io_error(&error, display_path))
}

fn render_draft(arguments: &CreateArguments) -> Result<Draft, DraftError> {
    // The draft type renders its own frontmatter, so that no field of the model can add another
    // one.
    let draft = Draft::new(&arguments.name, &arguments.description)?
        .instructions(&arguments.instructions)?;
    let draft = draft.metadata(arguments.metadata.clone())?;
    arguments
        .license
        .as_deref()
        .map_or(Ok(draft.clone()), |license| draft.license(license))
}

fn draft_error(error: &DraftError) -> ToolError {
    let code = match error.kind() {
        DraftErrorKind::Name => ToolErrorCode::InvalidName,
        DraftErrorKind::TooLong => ToolErrorCode::TooLarge,
        _ => ToolErrorCode::InvalidArguments,
    };
    code.error(error.to_string())
}

fn name_taken_error(name: &str) -> ToolError {
    let message = format!("skill `{name}` already exists");
    ToolErrorCode::AlreadyExists
        .error_at(format!("/skills/{name}"), message)
        .with_hint("choose another name, or edit the files of a draft with skills_write")
}

/// Returns the scripts by file name, with the extension added where it is missing.
fn validate_scripts(
    declared: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, &str>, ToolError> {
    if declared.len() > MAX_SCRIPTS {
        return Err(ToolErrorCode::TooLarge.error(format!(
            "too many scripts: {}, limit {MAX_SCRIPTS}",
            declared.len()
        )));
    }
    let mut scripts = BTreeMap::new();
    for (name, content) in declared {
        let invalid = |code: ToolErrorCode, problem: &str| {
            code.error(format!(
                "invalid script `{}`: {problem}",
                escape_for_display(name)
            ))
        };
        if !is_valid_script_name(name) {
            let problem = "expected a name of at most 64 letters, digits, `_`, `-` and `.`, not starting with `.` or `-`";
            return Err(invalid(ToolErrorCode::InvalidArguments, problem));
        }
        if content.len() > MAX_SCRIPT_BYTES {
            return Err(invalid(ToolErrorCode::TooLarge, "larger than 1 MiB"));
        }
        let file_name = if name.contains('.') {
            name.clone()
        } else {
            format!("{name}.py")
        };
        // On case-insensitive file systems, the second script would replace the first.
        let is_same = |known: &String| known.eq_ignore_ascii_case(&file_name);
        if scripts.keys().any(is_same) {
            return Err(invalid(ToolErrorCode::InvalidArguments, "duplicate name"));
        }
        scripts.insert(file_name, content.as_str());
    }
    Ok(scripts)
}

fn is_valid_script_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.len() <= MAX_SCRIPT_NAME_CHARS
        && name.chars().all(is_allowed)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !name.ends_with('.')
}

/// Builds the skill under a temporary name and renames it, so that a partial skill is never
/// visible.
fn build_draft(
    drafts: &Dir,
    name: &str,
    files: &[(Vec<String>, String)],
    display_path: &str,
) -> Result<(), ToolError> {
    // The catalog does not list everything, such as directories without a `SKILL.md` and broken
    // symlinks.
    if drafts.symlink_metadata(name).is_ok() {
        return Err(name_taken_error(name));
    }
    let temporary =
        temporary::create_directory(drafts).map_err(|error| io_error(&error, display_path))?;
    let result = write_files(drafts, &temporary.name, files, display_path)
        .and_then(|()| publish_draft(drafts, &temporary.name, name, display_path));
    if result.is_err() {
        // Cleanup is best effort: the leftover has a temporary name, and the original error matters
        // more.
        let _ = drafts.remove_dir_all(&temporary.name);
    }
    result
}

fn write_files(
    drafts: &Dir,
    temporary: &str,
    files: &[(Vec<String>, String)],
    display_path: &str,
) -> Result<(), ToolError> {
    let draft = drafts
        .open_dir(temporary)
        .map_err(|error| io_error(&error, display_path))?;
    for (parts, content) in files {
        let Some((name, parents)) = parts.split_last() else {
            continue;
        };
        let parent = write::create_parent(&draft, parents, display_path)?;
        // A file with a `#!` line is meant to be executed; others keep the default mode.
        let executable = content.starts_with("#!").then_some(true);
        let request = WriteRequest {
            display_path,
            content: content.as_bytes(),
            mode: WriteMode::Create,
            if_match: None,
            executable,
            new_mode: None,
        };
        write::write_file(&parent, name, &request)?;
    }
    Ok(())
}

/// Renames the directory. A rename replaces nothing but an empty directory.
fn publish_draft(
    drafts: &Dir,
    temporary: &str,
    name: &str,
    display_path: &str,
) -> Result<(), ToolError> {
    drafts
        // After all files are complete: a scan never finds a draft without its scripts.
        .rename(temporary, drafts, name)
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => {
                name_taken_error(name)
            }
            _ => io_error(&error, display_path),
        })?;
    write::sync_directory(drafts);
    Ok(())
}
