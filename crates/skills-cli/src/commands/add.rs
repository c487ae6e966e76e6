//! `skills add`: installs skills, and records them in the lock file.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use skills_install::{
    Action, Fetcher, LocalEdits, LockFile, Plan, SkillChange, SourceSpec, Store, UpdateFailure,
};
use skills_runtime::Scope;
use skills_runtime::discovery::{ContentDigest, Trust, TrustedSkill};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::install::{
    InstallArgs, Target, failed, failures_json, fetcher, open_read_only, open_store, parse_source,
    parse_target, perform, policy_words, preview, report_failures,
};
use crate::lint::prepare_linter;
use crate::output::{Output, line};
use crate::trusted_skills::TrustedSkillStore;

/// Help of the source, with brackets that a documentation comment would read as a link.
const SOURCE_HELP: &str = "SRC[#VERSION][//DIR], where SRC is a directory or archive (./DIR, \
     ./FILE.zip), OWNER/REPO, OWNER/REPO/DIR or OWNER/REPO@SKILL of GitHub, the URL of a git \
     repository, of a page that shows one of its directories, of an archive or web site, npm:DIR, \
     oci://HOST/NAME:TAG, clawhub:SLUG@VERSION or mcp+https://HOST/PATH";

/// Install skills
///
/// Reads the source, checks every file, shows what the skills ask for and what in their text looks
/// like an attack, and asks before anything is written. The skills and their content digests are
/// recorded in skills.lock of the target directory; a skill with other content is not used. Nothing
/// of a skill is executed.
///
/// Without a source, installs the locked versions of the skills that skills.lock lists and that are
/// missing.
#[derive(Debug, Args)]
pub(crate) struct Add {
    #[arg(value_name = "SOURCE", help = SOURCE_HELP)]
    source: Option<String>,

    /// Install only this skill of the source (repeatable)
    #[arg(long = "skill", value_name = "NAME")]
    skills: Vec<String>,

    /// Install to the skill directory of the project or of the user, or to a directory [default:
    /// the first --root, else project]
    #[arg(long, value_name = "project|user|DIR", value_parser = parse_target)]
    to: Option<Target>,

    /// Show what would be installed, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// List the skills of the source with their directories, and change nothing
    #[arg(long, requires = "source", conflicts_with_all = ["dry_run", "to"])]
    list: bool,

    #[command(flatten)]
    install: InstallArgs,
}

impl Add {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        if self.list {
            return self.list(context);
        }
        let target = self
            .to
            .clone()
            .unwrap_or_else(|| Target::default_of(context));
        let directory = target.directory(context)?;
        let fetcher = fetcher(&self.install.fetch, context)?;
        let mut store = if self.dry_run {
            open_read_only(&directory, context)?
        } else {
            open_store(&directory, context)?
        };
        prepare_linter();
        let plan = self.plan(&mut store, &fetcher, context)?;
        let output = context.output;
        if self.dry_run {
            let rest = || report_kept(&plan, &directory, store.lock_file(), output);
            let shown = preview(&plan, &directory, &self.install.deny, rest, output)?;
            if output.is_json() {
                output.print_json(&shown.document)?;
            }
            return Ok(shown.exit);
        }
        if !output.is_json() && is_nothing_missing(&plan) {
            report_nothing_missing(store.lock_file(), &directory, output);
            return Ok(Exit::Success);
        }
        let installed = installed_skills(&plan, &directory);
        let left_out = self.source.as_ref().and_then(|_| left_out(&plan));
        let performed = perform(store, plan, &directory, &self.install, context)?;
        // Those that are left out are not among the installed ones.
        let trusted = if performed.is_applied {
            trust_installed(&installed, context)?
        } else {
            Vec::new()
        };
        if let Some(text) = left_out.filter(|_| performed.is_applied) {
            output.status(&text);
        }
        if output.is_json() {
            output.print_json(&performed.document)?;
        } else if performed.is_applied {
            for name in &trusted {
                let name = line(name);
                output.status(&format!("trusted this content of `{name}` in the project"));
            }
            let are_trusted = trusted.len() == installed.len() && !installed.is_empty();
            if performed.exit == Exit::Success && !are_trusted {
                help_with_trust(&directory, context)?;
            }
        }
        Ok(performed.exit)
    }

    /// Lists what is in the source, as if nothing was installed.
    fn list(&self, context: &Context) -> anyhow::Result<Exit> {
        let fetcher = fetcher(&self.install.fetch, context)?;
        let directory = Target::default_of(context).directory(context)?;
        let mut store = open_read_only(&directory, context)?;
        let source = self.source.as_deref().unwrap_or_default();
        let (spec, names) = self.source(source, context)?;
        // What is installed is not compared.
        let plan = store.plan_add(&fetcher, &spec, &names, LocalEdits::Ours, &policy_words);
        let plan = plan.map_err(failed)?;
        let output = context.output;
        report_failures(&plan, output);
        if output.is_json() {
            let skills: Vec<Value> = plan.changes().iter().map(listed_json).collect();
            output.print_json(&json!({"skills": skills, "failures": failures_json(&plan)}))?;
        } else {
            output.lines(listed_lines(&plan))?;
            output.status(
                "help: install some of them with `--skill NAME`, or with `//DIR` after the source",
            );
        }
        Ok(Exit::success_if(plan.failures().is_empty()))
    }

    /// Returns the source and the names of the wanted skills; all if there are none.
    fn source(&self, text: &str, context: &Context) -> anyhow::Result<(SourceSpec, Vec<String>)> {
        let (spec, skill) = parse_source(text, context)?;
        Ok((spec, self.skills.iter().cloned().chain(skill).collect()))
    }

    fn plan(
        &self,
        store: &mut Store,
        fetcher: &Fetcher,
        context: &Context,
    ) -> anyhow::Result<Plan> {
        let edits = self.install.edits.edits();
        let Some(source) = &self.source else {
            let plan = store.plan_restore(fetcher, &self.skills, edits, &policy_words);
            return plan.map_err(failed);
        };
        let (spec, names) = self.source(source, context)?;
        let plan = store.plan_add(fetcher, &spec, &names, edits, &policy_words);
        let plan = plan.map_err(failed)?;
        if context.options.frozen {
            check_locked(&plan, store)?;
        }
        Ok(plan)
    }
}

/// Returns a text that names the skills of the source that are not installed, if there are any.
fn left_out(plan: &Plan) -> Option<String> {
    let failures = plan.failures();
    let all = plan.changes().len() + failures.len();
    let names = failures.iter().flat_map(UpdateFailure::names);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        let count = failures.len();
        format!("error: {count} of {all} skills not installed for the reasons above: {names}")
    })
}

/// Returns name, directory of the source and description of each skill, in columns.
fn listed_lines(plan: &Plan) -> Vec<String> {
    let rows: Vec<[String; 3]> = plan
        .changes()
        .iter()
        .map(|change| {
            let directory = match change.locked().source().path() {
                path if path.is_root() => String::new(),
                path => format!("//{}", line(path.as_str())),
            };
            [line(change.name()), directory, line(change.description())]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let (names, directories) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    let lines = rows.iter().map(|[name, directory, description]| {
        let text = format!("{name:names$}  {directory:directories$}  {description}");
        text.trim_end().to_owned()
    });
    lines.collect()
}

fn listed_json(change: &SkillChange) -> Value {
    let locked = change.locked();
    json!({
        "skill": change.name(),
        "directory": locked.source().path().as_str(),
        "description": change.description(),
        "source": locked.source().to_string(),
        "revision": locked.revision(),
        "files": locked.files(),
        "bytes": locked.bytes(),
    })
}

/// Returns true if a plan is about no skill: without a source, all locked skills are installed.
fn is_nothing_missing(plan: &Plan) -> bool {
    plan.changes().is_empty() && plan.failures().is_empty()
}

/// Says that no locked skill is missing, or that there is none.
fn report_nothing_missing(locked: &LockFile, directory: &Path, output: Output) {
    let directory = line(&directory.to_string_lossy());
    match locked.skills().len() {
        0 => {
            output.status(&format!("no skill is locked in {directory}"));
            output.status("help: pass a source to install skills: `skills add SOURCE`");
        }
        _ => output.status(&format!(
            "nothing to install in {directory}: no locked skill is missing"
        )),
    }
}

/// Names the skills of a plan that are installed already.
fn report_kept(plan: &Plan, directory: &Path, locked: &LockFile, output: Output) {
    if is_nothing_missing(plan) {
        report_nothing_missing(locked, directory, output);
    }
    let kept = plan.changes().iter();
    let is_kept =
        |change: &&SkillChange| change.action() == Action::Keep && change.moved_from().is_none();
    for change in kept.filter(is_kept) {
        let (name, directory) = (line(change.name()), line(&directory.to_string_lossy()));
        output.status(&format!("`{name}` is up to date in {directory}"));
    }
}

/// Fails if a plan installs anything but what the lock file lists.
fn check_locked(plan: &Plan, store: &Store) -> anyhow::Result<()> {
    for change in plan.changes() {
        let locked = store.lock_file().skills().get(change.name());
        let problem = match locked {
            None => "is not in the lock file",
            Some(locked) if locked.content() != change.locked().content() => {
                "has other content than in the lock file"
            }
            Some(_) => continue,
        };
        let message = format!("skill `{}` {problem}", change.name());
        return Err(CommandError::new("frozen", Exit::Denied, message)
            .with_help("run the command without `--frozen` to change the lock file")
            .into());
    }
    Ok(())
}

/// The directory of a skill that a plan installs, and its content.
struct InstalledSkill {
    directory: PathBuf,
    content: ContentDigest,
}

/// Returns the skills that a plan writes. Others were not shown to the person who agrees.
fn installed_skills(plan: &Plan, directory: &Path) -> Vec<InstalledSkill> {
    let is_written = |change: &&SkillChange| {
        matches!(
            change.action(),
            Action::Add | Action::Update | Action::Restore
        )
    };
    let written = plan.changes().iter().filter(is_written);
    written
        .map(|change| InstalledSkill {
            directory: directory.join(change.name()),
            content: change.locked().content(),
        })
        .collect()
}

/// Trusts the skills that were installed into a project that is not trusted, with the content to which
/// the person has agreed. Returns their names.
fn trust_installed(installed: &[InstalledSkill], context: &Context) -> anyhow::Result<Vec<String>> {
    let store = TrustedSkillStore::new(&context.environment);
    let (Some(store), Trust::Untrusted) = (store, context.project_trust()?) else {
        return Ok(Vec::new());
    };
    let runtime = context.runtime()?;
    let catalog = runtime.library().catalog();
    let (mut names, mut skills) = (Vec::new(), Vec::new());
    for inactive in catalog.inactive() {
        let entry = inactive.entry();
        let is_directory = |skill: &&InstalledSkill| {
            let canonical = skill.directory.canonicalize();
            canonical.is_ok_and(|directory| directory == entry.directory())
        };
        let skill = installed.iter().find(is_directory);
        let Some(skill) = skill.filter(|_| inactive.is_of_untrusted_project()) else {
            continue;
        };
        // Another process may have changed it since.
        let current = TrustedSkill::read(entry).ok();
        if let Some(current) = current.filter(|current| current.digest() == skill.content) {
            names.push(entry.name().to_string());
            skills.push(current);
        }
    }
    if !skills.is_empty()
        && let Err(error) = store.add(&skills)
    {
        let warning = "warning: the installed skills are not trusted";
        context.output.status(&format!("{warning}: {error}"));
        return Ok(Vec::new());
    }
    Ok(names)
}

/// Says how the skills of a project that is not trusted are used.
fn help_with_trust(directory: &Path, context: &Context) -> anyhow::Result<()> {
    let roots = context.roots()?;
    match roots.iter().find(|root| root.path() == directory) {
        Some(root) if !root.is_trusted() && root.scope() == Scope::Repo => {
            context.output.status(
                "help: skills of a project are used after `skills trust --project`, or with `--trust-project`",
            );
        }
        None => context.output.status(&format!(
            "help: the directory is not searched by default; pass `--root {}`",
            line(&directory.to_string_lossy())
        )),
        Some(_) => {}
    }
    Ok(())
}
