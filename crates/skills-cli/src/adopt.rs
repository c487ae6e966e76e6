//! `skills adopt`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::json;
use skills_runtime::discovery::{Discovery, SkillFiles};
use skills_runtime::{Scope, SkillRuntime};

use crate::approver;
use crate::arguments::Adopt;
use crate::exit::Exit;
use crate::host;
use crate::input::InputError;
use crate::output::{Output, line};

/// Moves a draft to where skills are, once a person has seen what is in it.
pub(crate) fn adopt(runtime: &SkillRuntime, arguments: &Adopt, output: &Output) -> anyhow::Result<Exit> {
    let no_place = || InputError::new("there is no home directory, and so no drafts; name their directory with --drafts".to_owned());
    let drafts = host::drafts(arguments.drafts.as_ref())?.ok_or_else(no_place)?;
    let found = Discovery::new([host::draft_root(&drafts)]).scan();
    let all: Vec<(String, PathBuf)> =
        found.inactive().iter().map(|draft| (draft.entry().name().to_string(), draft.entry().directory().to_owned())).collect();
    let Some(name) = &arguments.name else { return list(&all, output) };
    let Some((name, directory)) = all.iter().find(|(known, _)| known == name) else {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let there = if names.is_empty() { "there are none".to_owned() } else { format!("there are: {}", names.join(", ")) };
        output.note(&format!("error: no draft is named {name:?}; {there}"));
        return Ok(Exit::Failed);
    };
    let target = target(runtime, arguments.to.as_deref())?;
    let file_name = directory.file_name().ok_or_else(|| anyhow!("the draft has no name"))?;
    let place = target.join(file_name);
    if place.symlink_metadata().is_ok() {
        return Err(InputError::new(format!("{}: there is something already", place.display())).into());
    }
    let digest = show(directory, name, &place, output)?;
    if !arguments.yes {
        match approver::confirm("Use this skill from now on? y: yes, anything else: no", output) {
            Some(true) => {}
            Some(false) => {
                output.note(&format!("{name} stays a draft"));
                return Ok(Exit::Denied);
            }
            None => {
                output.note("error: there is no terminal to ask on; --yes adopts it");
                return Ok(Exit::Denied);
            }
        }
    }
    std::fs::create_dir_all(&target).with_context(|| format!("{} cannot be made", target.display()))?;
    move_to(directory, &place, &digest)?;
    if output.is_json() {
        output.document(&json!({"skill": name, "directory": place, "digest": digest}))?;
    } else {
        output.note(&format!("{name} is in {} now; what it may do is asked when it runs", place.display()));
    }
    Ok(Exit::Done)
}

/// What was shown is what is moved: a draft that changed while somebody looked at it stays one.
fn move_to(directory: &Path, place: &Path, digest: &str) -> anyhow::Result<()> {
    std::fs::rename(directory, place).map_err(|error| match error.kind() {
        std::io::ErrorKind::CrossesDevices => {
            anyhow!("{} lies on another file system; name a directory on the same one with --to, or copy the skill", place.display())
        }
        _ => anyhow::Error::from(error).context(format!("{} cannot be moved to {}", directory.display(), place.display())),
    })?;
    if self::digest(place)? == digest {
        return Ok(());
    }
    std::fs::rename(place, directory)
        .with_context(|| format!("it changed meanwhile, and {} has to be removed by hand", place.display()))?;
    Err(anyhow!("the draft changed while it was looked at; look at it again"))
}

fn digest(directory: &Path) -> anyhow::Result<String> {
    let files = SkillFiles::at(directory)?;
    Ok(files.digest(&mut skills_runtime::discovery::DigestCache::default())?.to_string())
}

/// Shows what would be adopted; returns its digest.
fn show(directory: &Path, name: &str, place: &Path, output: &Output) -> anyhow::Result<String> {
    let digest = digest(directory)?;
    let files = SkillFiles::at(directory)?;
    let document = files.document()?;
    output.note(&format!("{name}: {}", line(document.manifest().description())));
    for file in files.list("")?.resources {
        output.note(&format!("  {} ({} bytes)", line(&file.path), file.bytes));
    }
    output.note(&format!("from {}", directory.display()));
    output.note(&format!("to   {}", place.display()));
    output.note(&format!("read it first: {}", directory.join(files.file_name()).display()));
    Ok(digest)
}

/// The first place of the user's own that is trusted.
fn target(runtime: &SkillRuntime, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    let mut roots = runtime.discovery().roots().iter().filter(|root| root.is_trusted());
    let own = roots.find(|root| matches!(root.scope(), Scope::User | Scope::Custom)).map(|root| root.path().to_owned());
    own.ok_or_else(|| InputError::new("no place of your own is known where skills are looked for; name one with --to".to_owned()).into())
}

fn list(all: &[(String, PathBuf)], output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        let drafts: Vec<_> = all.iter().map(|(name, directory)| json!({"name": name, "directory": directory})).collect();
        output.document(&json!({"drafts": drafts}))?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        output.note("there are no drafts");
    }
    output.text(
        &all.iter().map(|(name, directory)| format!("{}  {}\n", line(name), line(&directory.display().to_string()))).collect::<String>(),
    )?;
    Ok(Exit::Done)
}
