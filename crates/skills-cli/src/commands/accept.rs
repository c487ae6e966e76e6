//! `skills accept`: reviews drafts that a model wrote and moves them to a skill root.

mod staging;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use skills_runtime::discovery::{DigestCache, DigestedContent, Discovery, SkillFiles};
use skills_runtime::{Scope, SkillRuntime};

use self::staging::{StagedDraft, lock_drafts, restore_staged};
use crate::approver::{is_terminal, no_terminal, require_confirmation};
use crate::context::Context;
use crate::counted::counted;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{Output, line};
use crate::tool_host;

/// Maximum number of files of a draft that are listed.
const MAX_FILES: usize = 1_000;

/// Accept a skill drafted by a model
#[derive(Debug, Args)]
pub(crate) struct Accept {
    /// Name of the draft; without it, drafts are listed
    name: Option<String>,

    /// Target directory [default: the first trusted user root]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    /// Directory of drafts [default: drafts in the data directory]
    #[arg(long, value_name = "DIR")]
    drafts: Option<PathBuf>,

    /// Accept without asking
    #[arg(long)]
    yes: bool,
}

/// A skill that a model wrote.
struct Draft {
    name: String,
    directory: PathBuf,
}

impl Accept {
    /// Moves a draft to a skill root after a user has reviewed and accepted it.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let drafts = tool_host::drafts_dir(self.drafts.as_deref(), &context.environment)?;
        let drafts = drafts.ok_or_else(|| {
            CommandError::input("cannot find the drafts: no home directory")
                .with_help("pass `--drafts DIR`")
        })?;
        // Before any draft is listed or moved: another call may be restoring or staging one.
        let _lock = lock_drafts(&drafts)?;
        restore_staged(&drafts, output)?;
        let all = find_drafts(&drafts);
        let Some(name) = &self.name else {
            return list_drafts(&all, output);
        };
        let Some(draft) = all.iter().find(|draft| draft.name == *name) else {
            return Err(unknown_draft(name, &all).into());
        };
        let destination = self.free_destination(&runtime, &draft.directory)?;
        if !self.yes && !is_terminal() {
            // Nothing is staged, so the draft stays at the path that is shown.
            let content = digested_content(&draft.directory)?;
            print_draft(&draft.directory, name, &content, &runtime, output)?;
            output.status(&review_text(&draft.directory, &destination));
            return Err(no_terminal().into());
        }
        // Tools of a model write below the drafts, and must not change one while a user reads it.
        let staged = StagedDraft::stage(&drafts, &draft.directory)?;
        let shown_content = digested_content(&staged.path)?;
        print_draft(&staged.path, name, &shown_content, &runtime, output)?;
        if !self.yes {
            output.status(&review_text(&staged.path, &destination));
            let declined = format!("`{name}` stays a draft");
            require_confirmation("Accept this skill? [y/N]", &declined, output)?;
        }
        // A program that had a file of the draft open can still write to it after it was staged.
        let content = digested_content(&staged.path)?;
        if content.digest != shown_content.digest {
            anyhow::bail!("the draft changed during the review; review it again");
        }
        remove_generated(&staged.path, &content)?;
        staged.move_to(&destination)?;
        let digest = content.digest.to_string();
        if output.is_json() {
            let moved = json!({"skill": name, "directory": destination, "digest": digest});
            return output.json(&moved);
        }
        output.status(&format!(
            "accepted `{name}`: moved to {}, content digest {digest}",
            destination.display()
        ));
        Ok(Exit::Success)
    }

    /// Returns the path in the target directory for a draft, and creates the target directory.
    ///
    /// # Errors
    /// Fails if something exists at the path: a skill is not replaced.
    fn free_destination(&self, runtime: &SkillRuntime, draft: &Path) -> anyhow::Result<PathBuf> {
        let target = match &self.to {
            Some(given) => std::path::absolute(given)?,
            None => target_root(runtime)?,
        };
        let name = draft
            .file_name()
            .context("the draft directory has no name")?;
        let destination = target.join(name);
        // Not `exists`, which is false for a dangling symlink.
        if destination.symlink_metadata().is_ok() {
            let message = format!("`{}` already exists", destination.display());
            anyhow::bail!(CommandError::input(message));
        }
        std::fs::create_dir_all(&target)
            .with_context(|| format!("cannot create `{}`", target.display()))?;
        Ok(destination)
    }
}

/// Says where a draft can be read, and what accepting it does.
fn review_text(directory: &Path, destination: &Path) -> String {
    let (path, shown) = (directory.display(), destination.display());
    format!("review it in {path}; accepting moves it to {shown}")
}

/// Returns the first trusted root in user or custom scope.
fn target_root(runtime: &SkillRuntime) -> anyhow::Result<PathBuf> {
    let mut roots = runtime.library().discovery().roots().iter();
    // In an untrusted root the accepted skill would stay inactive.
    let root =
        roots.find(|root| root.is_trusted() && matches!(root.scope(), Scope::User | Scope::Custom));
    let root = root.ok_or_else(|| {
        CommandError::input("no trusted user root found").with_help("pass `--to DIR`")
    })?;
    Ok(root.path().to_owned())
}

/// Returns all drafts.
fn find_drafts(drafts: &Path) -> Vec<Draft> {
    let found = Discovery::new([tool_host::draft_root(drafts)]).scan();
    // The root is untrusted, so all of its skills are inactive.
    let entries = found.inactive().iter().map(|inactive| inactive.entry());
    let draft = entries.map(|entry| Draft {
        name: entry.name().to_string(),
        directory: entry.directory().to_owned(),
    });
    draft.collect()
}

fn unknown_draft(name: &str, all: &[Draft]) -> CommandError {
    let error = CommandError::not_found(format!("draft `{name}` not found"));
    if all.is_empty() {
        return error.with_help("no drafts exist");
    }
    error.with_candidates(all.iter().map(|draft| draft.name.clone()).collect())
}

fn list_drafts(all: &[Draft], output: Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        let drafts = all
            .iter()
            .map(|draft| json!({"name": draft.name, "directory": draft.directory}));
        return output.json(&json!({"drafts": drafts.collect::<Vec<_>>()}));
    }
    if all.is_empty() {
        output.status("no drafts");
    }
    output.lines(all.iter().map(|Draft { name, directory }| {
        format!("{}  {}", line(name), line(&directory.to_string_lossy()))
    }))?;
    Ok(Exit::Success)
}

fn digested_content(directory: &Path) -> anyhow::Result<DigestedContent> {
    let files = SkillFiles::open_directory(directory)?;
    Ok(files.digested_content(&mut DigestCache::default())?)
}

/// Removes the directories that the digest does not cover: their files could be executed, and the
/// user has accepted only what the digest covers.
fn remove_generated(directory: &Path, content: &DigestedContent) -> anyhow::Result<()> {
    let files = SkillFiles::open_directory(directory)?;
    for generated in &content.generated_directories {
        files
            .directory()
            .remove_dir_all(generated)
            .with_context(|| format!("cannot remove `{}`", generated.display()))?;
    }
    Ok(())
}

/// Shows what would be accepted: every file of the content digest, and the requested tools.
fn print_draft(
    directory: &Path,
    name: &str,
    content: &DigestedContent,
    runtime: &SkillRuntime,
    output: Output,
) -> anyhow::Result<()> {
    let files = SkillFiles::open_directory(directory)?;
    let document = files.document()?;
    let description = line(document.manifest().description());
    output.status(&format!("{name}: {description}"));
    let mut paths = Vec::new();
    // Not the resources that discovery lists: those omit hidden files, which the digest covers.
    collect_files(directory, directory, content, &mut paths)?;
    paths.sort();
    for (path, what) in paths.iter().take(MAX_FILES) {
        output.status(&format!("  {} ({what})", line(path)));
    }
    if paths.len() > MAX_FILES {
        let more = counted(paths.len() - MAX_FILES, "more file");
        output.status(&format!(" and {more}"));
    }
    let tools = document.manifest().allowed_tools().iter();
    let tools: Vec<String> = tools.map(ToString::to_string).collect();
    if !tools.is_empty() {
        output.status(&format!("requests {}", line(&tools.join(" "))));
    }
    let catalog = runtime.library().catalog();
    // A draft could be meant to take the place of a skill that a user trusts.
    for other in catalog
        .all_entries()
        .filter(|entry| entry.name().as_str() == name)
    {
        let directory = other.directory().display();
        output.status(&format!(
            "warning: another skill has this name: {directory}"
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
    content: &DigestedContent,
    paths: &mut Vec<(String, String)>,
) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        // Symlinks are shown and not followed: the target can be any file of the user.
        let metadata = path.symlink_metadata()?;
        let below = path.strip_prefix(top).unwrap_or(&path);
        let shown = below.display().to_string();
        let is_generated = |directory: &PathBuf| directory.as_path() == below;
        if content.generated_directories.iter().any(is_generated) {
            paths.push((shown, "generated, will be removed".to_owned()));
        } else if metadata.is_dir() {
            collect_files(top, &path, content, paths)?;
        } else if metadata.is_symlink() {
            let target = std::fs::read_link(&path)?;
            paths.push((
                shown,
                format!("symlink to {}", line(&target.to_string_lossy())),
            ));
        } else {
            paths.push((shown, format!("{} bytes", metadata.len())));
        }
    }
    Ok(())
}
