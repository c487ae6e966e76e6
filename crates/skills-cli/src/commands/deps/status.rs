//! `skills deps status`: the packages of skills, and the installed environments.

use clap::Args;
use serde_json::json;
use skills_runtime::deps::StoredEnvironment;
use skills_runtime::{PackageStatus, SkillRuntime};

use super::opened::{options, runtime};
use crate::context::Context;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::line;
use crate::program_args::ProgramArgs;

/// Show which packages of skills are missing, and the installed environments
///
/// `mentioned` is a skill that declares no packages, and names some in its instructions or scripts.
/// `invalid` is one with a declaration that cannot be installed.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Skills to check [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    programs: ProgramArgs,
}

impl Status {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let runtime = runtime(&self.programs, |config| config, context)?;
        let statuses = self.statuses(&runtime)?;
        let environments = runtime
            .executor()
            .package_store()
            .map(|store| store.list())
            .unwrap_or_default();
        if output.is_json() {
            let skills = statuses.iter().map(|(name, status)| {
                let (word, packages) = describe(status);
                let (missing, mentioned, problems) = match status {
                    PackageStatus::Mentioned(_) => (Vec::new(), packages, Vec::new()),
                    PackageStatus::Invalid(_) => (Vec::new(), Vec::new(), packages),
                    _ => (packages, Vec::new(), Vec::new()),
                };
                let mut skill = json!({
                    "skill": name,
                    "packages": word,
                    "missing": missing,
                    "mentioned": mentioned,
                });
                if !problems.is_empty() {
                    skill["problems"] = problems.into();
                }
                skill
            });
            let environments = environments.iter().map(environment_json);
            output.print_json(&json!({
                "skills": skills.collect::<Vec<_>>(),
                "environments": environments.collect::<Vec<_>>(),
            }))?;
            return Ok(Exit::Success);
        }
        let skills = statuses.iter().map(|(name, status)| {
            let (word, packages) = describe(status);
            let packages: Vec<String> = packages.iter().map(|package| line(package)).collect();
            let packages = packages.join(", ");
            format!("{}  {word}  {packages}", line(name))
                .trim_end()
                .to_owned()
        });
        let environments = environments.iter().map(environment_line);
        output.lines(skills.chain(environments))?;
        Ok(Exit::Success)
    }

    /// Returns the named skills, or all that declare or mention packages.
    fn statuses(&self, runtime: &SkillRuntime) -> anyhow::Result<Vec<(String, PackageStatus)>> {
        let executor = runtime.executor();
        if self.names.is_empty() {
            let catalog = runtime.library().catalog();
            let names = catalog
                .entries()
                .iter()
                .map(|entry| entry.name().as_str().to_owned());
            let statuses = names.filter_map(|name| {
                // A skill that cannot be read is reported by `skills doctor`.
                let status = executor.package_status(&name, &options(None)).ok()?;
                Some((name, status))
            });
            let declares = |(_, status): &(String, PackageStatus)| {
                !matches!(status, PackageStatus::NothingDeclared)
            };
            return Ok(statuses.filter(declares).collect());
        }
        let names = self
            .names
            .iter()
            .map(|name| input::resolve_skill_name(name));
        names
            .map(
                |name| match executor.package_status(&name, &options(None)) {
                    Ok(status) => Ok((name, status)),
                    Err(error) => Err(lookup::explain_error(runtime, &name, error)),
                },
            )
            .collect()
    }
}

/// Returns a status as a word, with the packages or problems that it is about.
fn describe(status: &PackageStatus) -> (&'static str, Vec<String>) {
    match status {
        PackageStatus::NothingDeclared => ("none", Vec::new()),
        PackageStatus::Mentioned(packages) => {
            let packages = packages.iter().map(ToString::to_string);
            ("mentioned", packages.collect())
        }
        PackageStatus::Present => ("present", Vec::new()),
        PackageStatus::Installed(_) => ("installed", Vec::new()),
        PackageStatus::Missing(names) => ("missing", names.clone()),
        PackageStatus::Invalid(problems) => ("invalid", problems.clone()),
        _ => ("unknown", Vec::new()),
    }
}

pub(super) fn environment_json(environment: &StoredEnvironment) -> serde_json::Value {
    json!({
        "key": environment.key.as_str(),
        "bytes": environment.bytes,
        "last_used": humantime::format_rfc3339_seconds(environment.last_used).to_string(),
        "packages": environment.plan.packages.iter().map(|package| json!({
            "name": package.full_name(),
            "version": package.version,
        })).collect::<Vec<_>>(),
    })
}

pub(super) fn environment_line(environment: &StoredEnvironment) -> String {
    let used = humantime::format_rfc3339_seconds(environment.last_used).to_string();
    let day = used.split('T').next().unwrap_or_default();
    let mib = environment.bytes.div_ceil(1 << 20);
    let key = &environment.key.as_str()[..12];
    format!(
        "{key}  {mib} MiB  used {day}  {}",
        line(&environment.plan.to_string())
    )
}
