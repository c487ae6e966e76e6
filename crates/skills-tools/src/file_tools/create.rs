//! `skills_create`: a new skill, which nobody has adopted yet.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::PoisonError;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::json;
use skills_runtime::discovery::SKILL_FILE;
use skills_runtime::manifest::{Draft, DraftError, DraftErrorKind};

use super::{FileTools, SkillWrites};
use crate::definition::{Annotations, Definition};
use crate::files::write::{self, Mode, Writing};
use crate::files::{failure, temporary};
use crate::path::shown;
use crate::schema;
use crate::{Code, Outcome, ToolError};

/// The most scripts of a new skill; more are added with `skills_write`.
const MAX_SCRIPTS: usize = 20;
/// The most bytes of one script: 1 MiB, as one write has.
const MAX_SCRIPT_BYTES: usize = 1 << 20;
/// The most characters of a script's name.
const MAX_SCRIPT_NAME: usize = 64;

/// The arguments of `skills_create`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateArguments {
    name: String,
    description: String,
    instructions: String,
    license: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    scripts: BTreeMap<String, String>,
}

pub(crate) fn definition() -> Definition {
    let name = "Lower-case letters, digits and single hyphens between them, a letter first, at most 64: `code-reviewer`, `pdf2image`.";
    Definition {
        name: "skills_create".to_owned(),
        title: "Make a skill".to_owned(),
        description:
            "Makes a new skill with a SKILL.md and scripts. It is a draft: it is read and written like other skills, and nothing of it \
                      runs until a person adopts it. A skill that is there is never replaced."
                .to_owned(),
        input_schema: schema::input(
            json!({
                // What breaks the rule gets an answer that says how, which a pattern cannot.
                "name": {"type": "string", "description": name},
                "description": {"type": "string", "minLength": 1, "maxLength": 1024,
                                "description": "What it does and when to use it, on one line."},
                "instructions": {"type": "string", "maxLength": 65536,
                                 "description": "The Markdown of the SKILL.md, without a frontmatter."},
                "license": {"type": "string", "minLength": 1, "maxLength": 200},
                "metadata": {"type": "object", "maxProperties": 50, "additionalProperties": {"type": "string", "maxLength": 1024}},
                "scripts": {"type": "object", "maxProperties": MAX_SCRIPTS,
                            "additionalProperties": {"type": "string", "maxLength": MAX_SCRIPT_BYTES},
                            "description": "Contents by name; a name without an ending is that of a Python script."},
            }),
            &["name", "description", "instructions"],
        ),
        output_schema: schema::output(
            json!({
                "status": {"const": "created"},
                "name": {"type": "string"},
                "path": {"type": "string"},
                "uri": {"type": "string"},
            }),
            &["status", "name", "path", "uri"],
        ),
        annotations: Annotations::MAKES,
    }
}

impl FileTools {
    /// Makes a draft.
    pub(crate) fn create(&self, arguments: &CreateArguments) -> Result<Outcome, ToolError> {
        let draft = draft(arguments).map_err(|error| refused(&error))?;
        let path = format!("skills/{}", draft.name());
        let mut files = vec![(vec![SKILL_FILE.to_owned()], draft.render())];
        for (name, content) in scripts(&arguments.scripts)? {
            files.push((vec!["scripts".to_owned(), name], content.to_owned()));
        }
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_free(draft.name())?;
        let drafts = self.open_drafts(&path)?;
        let bytes = files.iter().map(|(_, content)| content.len() as u64).sum();
        let over = |left| {
            ToolError::new(
                Code::TooLarge,
                format!("only {left} bytes may still be written into skills"),
            )
            .at(&path)
        };
        self.skill_quota.take(bytes).map_err(over)?;
        build(&drafts, draft.name(), &files, &path)
            .inspect_err(|_| self.skill_quota.give_back(bytes))?;
        self.looks.anew();
        let uri = format!("skill://{}/{SKILL_FILE}", draft.name());
        let data = json!({"status": "created", "name": draft.name(), "path": path, "uri": uri});
        let mut outcome = Outcome::new(data.to_string(), data);
        outcome.files = files
            .iter()
            .map(|(parts, _)| format!("{path}/{}", parts.join("/")))
            .collect();
        Ok(outcome)
    }

    /// A name that a skill has is taken, wherever that skill lies and whether it is used or not.
    fn check_free(&self, name: &str) -> Result<(), ToolError> {
        let is_taken = self
            .looks
            .anew()
            .all()
            .any(|entry| entry.name().as_str() == name);
        if is_taken { Err(taken(name)) } else { Ok(()) }
    }

    fn open_drafts(&self, shown: &str) -> Result<Dir, ToolError> {
        let Some(path) = self
            .drafts
            .as_ref()
            .filter(|_| self.skill_writes != SkillWrites::Never)
        else {
            let error = ToolError::new(Code::ReadOnly, "no new skills are made here");
            return Err(error
                .at(shown)
                .hint("write the files to the workspace and let the user install them"));
        };
        Dir::create_ambient_dir_all(path, ambient_authority())
            .map_err(|error| failure(&error, shown))?;
        Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| failure(&error, shown))
    }
}

fn draft(arguments: &CreateArguments) -> Result<Draft, DraftError> {
    let draft = Draft::new(&arguments.name, &arguments.description)?
        .instructions(&arguments.instructions)?;
    let draft = draft.metadata(arguments.metadata.clone())?;
    arguments
        .license
        .as_deref()
        .map_or(Ok(draft.clone()), |license| draft.license(license))
}

fn refused(error: &DraftError) -> ToolError {
    let code = match error.kind() {
        DraftErrorKind::Name => Code::InvalidName,
        DraftErrorKind::TooLong => Code::TooLarge,
        _ => Code::InvalidArguments,
    };
    ToolError::new(code, error.to_string())
}

fn taken(name: &str) -> ToolError {
    let error = ToolError::new(
        Code::AlreadyExists,
        format!("skill '{name}' already exists"),
    );
    error
        .at(format!("skills/{name}"))
        .hint("choose another name, or change the files of a draft with skills_write")
}

/// The scripts by their whole names.
fn scripts(given: &BTreeMap<String, String>) -> Result<BTreeMap<String, &str>, ToolError> {
    if given.len() > MAX_SCRIPTS {
        return Err(ToolError::new(
            Code::TooLarge,
            format!("a new skill has at most {MAX_SCRIPTS} scripts"),
        ));
    }
    let mut scripts = BTreeMap::new();
    for (name, content) in given {
        let bad = |code, problem: &str| {
            ToolError::new(code, format!("the script '{}' {problem}", shown(name)))
        };
        if !is_plain(name) {
            let problem = "needs a name of at most 64 letters, digits, `_`, `-` and `.`, the first no `.` or `-`";
            return Err(bad(Code::InvalidArguments, problem));
        }
        if content.len() > MAX_SCRIPT_BYTES {
            return Err(bad(Code::TooLarge, "has more than 1048576 bytes"));
        }
        let whole = if name.contains('.') {
            name.clone()
        } else {
            format!("{name}.py")
        };
        let is_other = |known: &String| known.eq_ignore_ascii_case(&whole);
        if scripts.keys().any(is_other) {
            return Err(bad(Code::InvalidArguments, "is given twice"));
        }
        scripts.insert(whole, content.as_str());
    }
    Ok(scripts)
}

fn is_plain(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.len() <= MAX_SCRIPT_NAME
        && name.chars().all(is_fit)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !name.ends_with('.')
}

/// Builds the skill beside its place and renames it, so that nobody ever finds half of it.
fn build(
    drafts: &Dir,
    name: &str,
    files: &[(Vec<String>, String)],
    shown: &str,
) -> Result<(), ToolError> {
    if drafts.symlink_metadata(name).is_ok() {
        return Err(taken(name));
    }
    let temporary = temporary::directory(drafts).map_err(|error| failure(&error, shown))?;
    let built = fill(drafts, &temporary.name, files, shown)
        .and_then(|()| publish(drafts, &temporary.name, name, shown));
    if built.is_err() {
        // What cannot be removed is a directory with a strange name, and the error is worth more.
        let _ = drafts.remove_dir_all(&temporary.name);
    }
    built
}

fn fill(
    drafts: &Dir,
    temporary: &str,
    files: &[(Vec<String>, String)],
    shown: &str,
) -> Result<(), ToolError> {
    let top = drafts
        .open_dir(temporary)
        .map_err(|error| failure(&error, shown))?;
    for (parts, content) in files {
        let Some((name, above)) = parts.split_last() else {
            continue;
        };
        let parent = write::parent(&top, above, shown)?;
        let executable = content.starts_with("#!").then_some(true);
        let writing = Writing {
            shown,
            content: content.as_bytes(),
            mode: Mode::Create,
            if_match: None,
            executable,
        };
        write::write(&parent, name, &writing)?;
    }
    Ok(())
}

/// The rename of a directory takes the place of nothing but an empty directory.
fn publish(drafts: &Dir, temporary: &str, name: &str, shown: &str) -> Result<(), ToolError> {
    drafts
        .rename(temporary, drafts, name)
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => {
                taken(name)
            }
            _ => failure(&error, shown),
        })?;
    write::sync(drafts);
    Ok(())
}
