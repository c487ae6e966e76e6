//! `skills adopt`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::json;
use skills_runtime::discovery::{Discovery, SkillFiles};
use skills_runtime::{Scope, SkillRuntime};

use crate::approver;
use crate::arguments::Accept;
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, line};
use crate::tool_host;

/// Where a draft lies while somebody looks at it: in no root, so that no tool finds it.
const STAGING_DIR: &str = ".adopting";
/// The file by which calls take turns.
const LOCK_FILE: &str = ".adopting.lock";
/// The most files of a draft that are named.
const MAX_FILES: usize = 1_000;

/// Moves a draft to where skills are, once a person has seen what is in it.
pub(crate) fn accept(
    runtime: &SkillRuntime,
    arguments: &Accept,
    output: &Output,
) -> anyhow::Result<Exit> {
    let no_place = || {
        InputError::new(
            "there is no home directory, and so no drafts; name their directory with --drafts"
                .to_owned(),
        )
    };
    let drafts = tool_host::drafts_dir(arguments.drafts.as_ref())?.ok_or_else(no_place)?;
    let _turn = lock_drafts(&drafts)?;
    restore_staged(&drafts, output)?;
    let found = Discovery::new([tool_host::draft_root(&drafts)]).scan();
    let all: Vec<(String, PathBuf)> = found
        .inactive()
        .iter()
        .map(|draft| {
            (
                draft.entry().name().to_string(),
                draft.entry().directory().to_owned(),
            )
        })
        .collect();
    let Some(name) = &arguments.name else {
        return list_drafts(&all, output);
    };
    let Some((name, directory)) = all.iter().find(|(known, _)| known == name) else {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let there = if names.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        output.status(&format!("error: no draft is named {name:?}; {there}"));
        return Ok(Exit::Failed);
    };
    let target = target_dir(runtime, arguments.to.as_deref())?;
    let file_name = directory
        .file_name()
        .ok_or_else(|| anyhow!("the draft has no name"))?;
    let place = target.join(file_name);
    if place.symlink_metadata().is_ok() {
        return Err(
            InputError::new(format!("{}: there is something already", place.display())).into(),
        );
    }
    std::fs::create_dir_all(&target)
        .with_context(|| format!("{} cannot be made", target.display()))?;
    let held = StagedDraft::stage(&drafts, directory)?;
    let digest = content_digest(&held.path)?;
    print_draft(&held.path, name, runtime, output)?;
    output.status(&format!(
        "it would go to {}; read it first: {}",
        place.display(),
        held.path.display()
    ));
    if !arguments.yes {
        match approver::confirm(
            "Use this skill from now on? y: yes, anything else: no",
            output,
        ) {
            Some(true) => {}
            Some(false) => {
                output.status(&format!("{name} stays a draft"));
                return Ok(Exit::Denied);
            }
            None => {
                output.status("error: there is no terminal to ask on; --yes adopts it");
                return Ok(Exit::Denied);
            }
        }
    }
    if self::content_digest(&held.path)? != digest {
        return Err(anyhow!(
            "the draft changed while it was looked at; look at it again"
        ));
    }
    held.move_to(&place)?;
    if output.is_json() {
        output.print_json(&json!({"skill": name, "directory": place, "digest": digest}))?;
    } else {
        output.status(&format!(
            "{name} is in {} and is used from now on; its content is {digest}",
            place.display()
        ));
    }
    Ok(Exit::Success)
}

/// A draft that nobody else finds by its name; dropped, it is a draft again.
struct StagedDraft {
    path: PathBuf,
    original: PathBuf,
}

impl StagedDraft {
    fn stage(drafts: &Path, directory: &Path) -> anyhow::Result<Self> {
        let (aside, name) = (
            drafts.join(STAGING_DIR),
            directory.file_name().unwrap_or_default(),
        );
        std::fs::create_dir_all(&aside)
            .with_context(|| format!("{} cannot be made", aside.display()))?;
        let path = aside.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(anyhow!(
                "{} stands in the way: look at it, and move or remove it",
                path.display()
            ));
        }
        std::fs::rename(directory, &path)
            .with_context(|| format!("{} cannot be moved aside", directory.display()))?;
        Ok(Self {
            path,
            original: directory.to_owned(),
        })
    }

    /// Moves it to where it is used.
    fn move_to(&self, place: &Path) -> anyhow::Result<()> {
        std::fs::rename(&self.path, place).map_err(|error| match error.kind() {
            std::io::ErrorKind::CrossesDevices => {
                anyhow!("{} lies on another file system; name a directory on the same one with --to, or copy the skill", place.display())
            }
            _ => anyhow::Error::from(error).context(format!("it cannot be moved to {}", place.display())),
        })
    }
}

impl Drop for StagedDraft {
    fn drop(&mut self) {
        // What was released is not there any more; what cannot be given back now is at the next
        // call.
        let _ = std::fs::rename(&self.path, &self.original);
        let _ = self.path.parent().map(std::fs::remove_dir);
    }
}

/// Waits for nobody: while a person looks at one draft, no other call moves any. Nothing is locked
/// where there are no drafts.
#[expect(clippy::disallowed_methods, reason = "the file is the command's own")]
fn lock_drafts(drafts: &Path) -> anyhow::Result<Option<std::fs::File>> {
    if !drafts.is_dir() {
        return Ok(None);
    }
    let path = drafts.join(LOCK_FILE);
    let file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Err(anyhow!(
            "another `skills adopt` looks at the drafts in {}; wait until it is done",
            drafts.display()
        )),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

/// Makes drafts again of what a call that was interrupted moved aside. One whose name was taken
/// meanwhile stays where it is, and that is said.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is the command's own"
)]
fn restore_staged(drafts: &Path, output: &Output) -> anyhow::Result<()> {
    let aside = drafts.join(STAGING_DIR);
    let Ok(entries) = std::fs::read_dir(&aside) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        if drafts.join(entry.file_name()).symlink_metadata().is_ok() {
            output.status(&format!(
                "warning: {} stays aside, since there is another draft of its name",
                entry.path().display()
            ));
            continue;
        }
        std::fs::rename(entry.path(), drafts.join(entry.file_name()))
            .with_context(|| format!("{} cannot be moved back", entry.path().display()))?;
    }
    // What is not empty is what was told of.
    let _ = std::fs::remove_dir(&aside);
    Ok(())
}

fn content_digest(directory: &Path) -> anyhow::Result<String> {
    let files = SkillFiles::open_directory(directory)?;
    Ok(files
        .digest(&mut skills_runtime::discovery::DigestCache::default())?
        .to_string())
}

/// Shows what would be adopted: every file that its digest counts, and what it asks for.
fn print_draft(
    directory: &Path,
    name: &str,
    runtime: &SkillRuntime,
    output: &Output,
) -> anyhow::Result<()> {
    let files = SkillFiles::open_directory(directory)?;
    let document = files.document()?;
    output.status(&format!(
        "{name}: {}",
        line(document.manifest().description())
    ));
    let mut paths = Vec::new();
    collect_files(directory, directory, &mut paths)?;
    paths.sort();
    for (path, what) in paths.iter().take(MAX_FILES) {
        output.status(&format!("  {} ({what})", line(path)));
    }
    if paths.len() > MAX_FILES {
        output.status(&format!("  and {} files more", paths.len() - MAX_FILES));
    }
    let tools: Vec<String> = document
        .manifest()
        .allowed_tools()
        .iter()
        .map(ToString::to_string)
        .collect();
    if !tools.is_empty() {
        output.status(&format!("asks for {}", line(&tools.join(" "))));
    }
    for other in runtime
        .catalog()
        .all_entries()
        .filter(|entry| entry.name().as_str() == name)
    {
        output.status(&format!(
            "warning: another skill has this name: {}",
            other.directory().display()
        ));
    }
    Ok(())
}

/// Lists all that lies in a draft, hidden files and links too.
#[expect(
    clippy::disallowed_methods,
    reason = "the draft lies where only this command finds it, and links are not followed"
)]
fn collect_files(
    top: &Path,
    directory: &Path,
    paths: &mut Vec<(String, String)>,
) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        let shown = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .display()
            .to_string();
        if metadata.is_dir() {
            collect_files(top, &path, paths)?;
        } else if metadata.is_symlink() {
            paths.push((
                shown,
                format!(
                    "a link to {}",
                    line(&std::fs::read_link(&path)?.display().to_string())
                ),
            ));
        } else {
            paths.push((shown, format!("{} bytes", metadata.len())));
        }
    }
    Ok(())
}

/// The first place of the user's own that is trusted.
fn target_dir(runtime: &SkillRuntime, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    let mut roots = runtime
        .discovery()
        .roots()
        .iter()
        .filter(|root| root.is_trusted());
    let own = roots
        .find(|root| matches!(root.scope(), Scope::User | Scope::Custom))
        .map(|root| root.path().to_owned());
    own.ok_or_else(|| {
        InputError::new(
            "no place of your own is known where skills are looked for; name one with --to"
                .to_owned(),
        )
        .into()
    })
}

fn list_drafts(all: &[(String, PathBuf)], output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        let drafts: Vec<_> = all
            .iter()
            .map(|(name, directory)| json!({"name": name, "directory": directory}))
            .collect();
        output.print_json(&json!({"drafts": drafts}))?;
        return Ok(Exit::Success);
    }
    if all.is_empty() {
        output.status("there are no drafts");
    }
    output.text(
        &all.iter()
            .map(|(name, directory)| {
                format!(
                    "{}  {}\n",
                    line(name),
                    line(&directory.display().to_string())
                )
            })
            .collect::<String>(),
    )?;
    Ok(Exit::Success)
}
