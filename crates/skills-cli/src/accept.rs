//! `skills accept`: reviews drafts that a model wrote and moves them to a skill root.

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

/// Staging directory of drafts under review. It is not a skill root, so no tool finds them.
const STAGING_DIR: &str = ".adopting";
/// Lock file that serializes concurrent calls.
const LOCK_FILE: &str = ".adopting.lock";
/// Maximum number of files of a draft that are listed.
const MAX_FILES: usize = 1_000;

/// Moves a draft to a skill root after a user has reviewed and accepted it.
pub(crate) fn accept(
    runtime: &SkillRuntime,
    arguments: &Accept,
    output: &Output,
) -> anyhow::Result<Exit> {
    let drafts = tool_host::drafts_dir(arguments.drafts.as_ref())?.ok_or_else(|| {
        InputError::new("cannot find the drafts: no home directory")
            .with_help("pass `--drafts DIR`")
    })?;
    // Before any draft is listed or moved: another call may be restoring or staging one.
    let _lock = lock_drafts(&drafts)?;
    restore_staged(&drafts, output)?;
    let all = find_drafts(&drafts);
    let Some(name) = &arguments.name else {
        return list_drafts(&all, output);
    };
    let Some((name, directory)) = all.iter().find(|(known, _)| known == name) else {
        return Ok(report_unknown(name, &all, output));
    };
    let destination = free_destination(runtime, arguments.to.as_deref(), directory)?;
    // Tools of a model write below the drafts, and must not change one while a user reads it.
    let staged = StagedDraft::stage(&drafts, directory)?;
    let digest = content_digest(&staged.path)?;
    print_draft(&staged.path, name, runtime, output)?;
    output.status(&format!(
        "review it in {}; accepting moves it to {}",
        staged.path.display(),
        destination.display()
    ));
    if !arguments.yes && !is_accepted_by_user(name, output) {
        return Ok(Exit::Denied);
    }
    // A program that had a file of the draft open can still write to it after it was staged.
    if content_digest(&staged.path)? != digest {
        return Err(anyhow!(
            "the draft changed during the review; review it again"
        ));
    }
    staged.move_to(&destination)?;
    if output.is_json() {
        output.print_json(&json!({"skill": name, "directory": destination, "digest": digest}))?;
    } else {
        output.status(&format!(
            "accepted `{name}`: moved to {}, content digest {digest}",
            destination.display()
        ));
    }
    Ok(Exit::Success)
}

/// Returns the names and directories of all drafts.
fn find_drafts(drafts: &Path) -> Vec<(String, PathBuf)> {
    let found = Discovery::new([tool_host::draft_root(drafts)]).scan();
    // The root is untrusted, so all of its skills are inactive.
    found
        .inactive()
        .iter()
        .map(|draft| {
            (
                draft.entry().name().to_string(),
                draft.entry().directory().to_owned(),
            )
        })
        .collect()
}

fn report_unknown(name: &str, all: &[(String, PathBuf)], output: &Output) -> Exit {
    output.status(&format!("error: draft `{name}` not found"));
    if all.is_empty() {
        output.status("note: there are no drafts");
    } else {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        output.status(&format!("help: available: {}", names.join(", ")));
    }
    Exit::Failed
}

/// Returns the path in the target directory for a draft, and creates the target directory.
///
/// # Errors
/// Fails if something exists at the path: a skill is not replaced.
fn free_destination(
    runtime: &SkillRuntime,
    target: Option<&Path>,
    draft: &Path,
) -> anyhow::Result<PathBuf> {
    let target = target_dir(runtime, target)?;
    let file_name = draft
        .file_name()
        .ok_or_else(|| anyhow!("the draft directory has no name"))?;
    let destination = target.join(file_name);
    // Not `exists`, which is false for a dangling symlink.
    if destination.symlink_metadata().is_ok() {
        return Err(InputError::new(format!("`{}` already exists", destination.display())).into());
    }
    std::fs::create_dir_all(&target)
        .with_context(|| format!("cannot create `{}`", target.display()))?;
    Ok(destination)
}

/// Asks the user to accept a draft, and reports a refusal or a missing terminal.
fn is_accepted_by_user(name: &str, output: &Output) -> bool {
    match approver::confirm("Accept this skill? [y/N]", output) {
        Some(true) => return true,
        Some(false) => output.status(&format!("`{name}` stays a draft")),
        None => {
            output.status("error: cannot ask for confirmation: standard input is not a terminal");
            output.status("help: pass `--yes`");
        }
    }
    false
}

/// A draft in the staging directory. Moves the draft back when dropped without `move_to`.
struct StagedDraft {
    path: PathBuf,
    original: PathBuf,
}

impl StagedDraft {
    fn stage(drafts: &Path, directory: &Path) -> anyhow::Result<Self> {
        let staging = drafts.join(STAGING_DIR);
        std::fs::create_dir_all(&staging)
            .with_context(|| format!("cannot create `{}`", staging.display()))?;
        let path = staging.join(directory.file_name().unwrap_or_default());
        if path.symlink_metadata().is_ok() {
            return Err(anyhow!(
                "cannot stage the draft: `{}` exists; move or remove it",
                path.display()
            ));
        }
        // A rename, and not a copy: what the user reviews is what is accepted, and the drafts no
        // longer contain it.
        std::fs::rename(directory, &path)
            .with_context(|| format!("cannot move `{}`", directory.display()))?;
        Ok(Self {
            path,
            original: directory.to_owned(),
        })
    }

    /// Moves the draft to its destination in a skill root.
    fn move_to(&self, destination: &Path) -> anyhow::Result<()> {
        std::fs::rename(&self.path, destination).map_err(|error| match error.kind() {
            // A copy would not be atomic, and could differ from what was reviewed.
            std::io::ErrorKind::CrossesDevices => {
                anyhow!( "cannot move the draft to `{}`: it is on another file system; pass `--to` a directory on the same one, or copy the skill", destination.display() )
            }
            _ => anyhow::Error::from(error).context(format!("cannot move the draft to `{}`", destination.display())),
        })
    }
}

impl Drop for StagedDraft {
    fn drop(&mut self) {
        // After `move_to` this fails, as intended. A draft that cannot be moved back now is
        // restored by the next call.
        let _ = std::fs::rename(&self.path, &self.original);
        let _ = self.path.parent().map(std::fs::remove_dir);
    }
}

/// Locks the drafts without blocking: while a user reviews one draft, no other call moves any.
/// Returns `None` if there is no drafts directory.
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
    let file = file.with_context(|| format!("cannot open `{}`", path.display()))?;
    // The kernel releases the lock when a call is killed, so no stale lock blocks later calls.
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Err(anyhow!(
            "another `skills accept` is reviewing the drafts in {}; wait until it finishes",
            drafts.display()
        )),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock `{}`", path.display()))
        }
    }
}

/// Moves drafts that an interrupted call left in the staging directory back. A draft whose name has
/// been taken in the meantime stays there, with a warning.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is the command's own"
)]
fn restore_staged(drafts: &Path, output: &Output) -> anyhow::Result<()> {
    let staging = drafts.join(STAGING_DIR);
    // The staging directory exists only while a draft is reviewed, or after an interrupted call.
    let Ok(entries) = std::fs::read_dir(&staging) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        if drafts.join(entry.file_name()).symlink_metadata().is_ok() {
            output.status(&format!(
                "warning: cannot restore `{}`: another draft has its name",
                entry.path().display()
            ));
            continue;
        }
        std::fs::rename(entry.path(), drafts.join(entry.file_name()))
            .with_context(|| format!("cannot move `{}` back", entry.path().display()))?;
    }
    // A directory that is not empty holds the drafts of the warnings above.
    let _ = std::fs::remove_dir(&staging);
    Ok(())
}

fn content_digest(directory: &Path) -> anyhow::Result<String> {
    let files = SkillFiles::open_directory(directory)?;
    Ok(files
        .digest(&mut skills_runtime::discovery::DigestCache::default())?
        .to_string())
}

/// Shows what would be accepted: every file of the content digest, and the requested tools.
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
    // Not the resources that discovery lists: those omit hidden files, which the digest covers.
    collect_files(directory, directory, &mut paths)?;
    paths.sort();
    for (path, what) in paths.iter().take(MAX_FILES) {
        output.status(&format!("  {} ({what})", line(path)));
    }
    if paths.len() > MAX_FILES {
        output.status(&format!(" and {} more files", paths.len() - MAX_FILES));
    }
    let tools: Vec<String> = document
        .manifest()
        .allowed_tools()
        .iter()
        .map(ToString::to_string)
        .collect();
    if !tools.is_empty() {
        output.status(&format!("requests {}", line(&tools.join(" "))));
    }
    for other in runtime
        .library()
        .catalog()
        .all_entries()
        // A draft could be meant to take the place of a skill that a user trusts.
        .filter(|entry| entry.name().as_str() == name)
    {
        output.status(&format!(
            "warning: another skill has this name: {}",
            other.directory().display()
        ));
    }
    Ok(())
}

/// Lists all files of a draft, including hidden files and symlinks.
#[expect(
    clippy::disallowed_methods,
    reason = "the draft is in a directory of this command, and symlinks are not followed"
)]
fn collect_files(
    top: &Path,
    directory: &Path,
    paths: &mut Vec<(String, String)>,
) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        // Symlinks are shown and not followed: the target can be any file of the user.
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
                    "symlink to {}",
                    line(&std::fs::read_link(&path)?.display().to_string())
                ),
            ));
        } else {
            paths.push((shown, format!("{} bytes", metadata.len())));
        }
    }
    Ok(())
}

/// Returns the first trusted root in user or custom scope.
fn target_dir(runtime: &SkillRuntime, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    let mut roots = runtime
        .library()
        .discovery()
        .roots()
        .iter()
        // In an untrusted root the accepted skill would stay inactive.
        .filter(|root| root.is_trusted());
    let directory = roots
        .find(|root| matches!(root.scope(), Scope::User | Scope::Custom))
        .map(|root| root.path().to_owned());
    directory.ok_or_else(|| {
        InputError::new("no trusted user root found")
            .with_help("pass `--to DIR`")
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
        output.status("no drafts");
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
