//! A skill whose packages are planned, and plans as text and JSON.

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::deps::Plan;
use skills_runtime::packages::ListedPackage;
use skills_runtime::{
    ExecutionOptions, HostCommand, PackageConfig, PackagePlan, RunTarget, SkillRuntime,
};

use crate::context::Context;
use crate::input;
use crate::lookup;
use crate::output::{Output, line};
use crate::packages::{SetupProgress, package_config};
use crate::program_args::ProgramArgs;
use crate::remedies::install_command;
use crate::signals;
use crate::virtual_env;
use crate::words::widest;

/// The program that the packages belong to.
#[derive(Debug, Args)]
pub(super) struct PackageArgs {
    /// Skill name or directory
    name: String,

    /// Script whose packages are meant, if it declares its own [default: those of the skill]
    #[arg(long)]
    script: Option<String>,

    #[command(flatten)]
    programs: ProgramArgs,
}

/// Packages that the user accepts for a skill.
pub(super) struct AcceptedPackages<'a> {
    pub(super) skill: &'a str,
    pub(super) packages: Vec<ListedPackage>,
}

/// A skill whose packages are planned.
pub(super) struct OpenedPackages {
    pub(super) runtime: SkillRuntime,
    /// The name of the skill, or its directory.
    pub(super) name: String,
    /// The options that select the program.
    pub(super) options: ExecutionOptions,
}

/// Returns a runtime with packages, also if a run would ignore requirements.
pub(super) fn runtime(
    programs: &ProgramArgs,
    configure: impl FnOnce(PackageConfig) -> PackageConfig,
    context: &Context,
) -> anyhow::Result<SkillRuntime> {
    let interpreters = virtual_env::interpreters(programs, context)?.chosen;
    let builder = context.builder(&interpreters)?;
    let builder = programs.configure(builder, Vec::new(), context)?;
    let config = package_config(&context.settings()?.packages, &context.environment)?;
    let builder = match config {
        Some(config) => builder.packages(configure(config)),
        None => builder,
    };
    Ok(context.build(builder))
}

impl PackageArgs {
    /// Returns the runtime, with packages in addition to those of the settings.
    pub(super) fn open(
        &self,
        allow_builds: bool,
        accepted: Option<AcceptedPackages<'_>>,
        context: &Context,
    ) -> anyhow::Result<OpenedPackages> {
        let configure = |mut config: PackageConfig| {
            if allow_builds {
                config = config.allow_builds(true);
            }
            match accepted {
                Some(AcceptedPackages { skill, packages }) => {
                    config.skill_packages(skill, packages)
                }
                None => config,
            }
        };
        Ok(OpenedPackages {
            runtime: runtime(&self.programs, configure, context)?,
            name: input::resolve_skill_name(&self.name),
            options: options(self.script.as_deref()),
        })
    }
}

/// The result of the selection of packages.
pub(super) enum Planned {
    Nothing,
    Packages(Box<PackagePlan>),
    Interrupted,
}

impl OpenedPackages {
    /// Selects the packages to install; with `refresh` the newest versions again.
    pub(super) fn plan(&self, refresh: bool) -> anyhow::Result<Planned> {
        let mut options = self.options.clone();
        let (call, progress) = SetupProgress::add_to(options.context);
        options.context = call;
        let executor = self.runtime.executor();
        let planned = executor.plan_packages(&self.name, &options, refresh);
        let planned = signals::run_until_interrupt(planned)?;
        drop(progress);
        let Ok(planned) = planned else {
            return Ok(Planned::Interrupted);
        };
        let explained = |error| lookup::explain_error(&self.runtime, &self.name, error);
        let planned = planned.map_err(explained)?;
        Ok(planned.map_or(Planned::Nothing, |plan| Planned::Packages(Box::new(plan))))
    }

    /// Returns the chosen script, if its packages are used.
    pub(super) fn script(&self) -> Option<&str> {
        match &self.options.target {
            RunTarget::Script(script) => Some(script),
            _ => None,
        }
    }

    /// Names the scripts that declare packages apart from their skill, which are not installed with
    /// it.
    pub(super) fn report_scripts(&self, output: Output) -> anyhow::Result<()> {
        if output.is_json() || self.script().is_some() {
            return Ok(());
        }
        let skill = lookup::get_skill(&self.runtime, &self.name)?.id;
        let executor = self.runtime.executor();
        let scripts = executor.scripts_without_packages(&self.name, &self.options)?;
        for script in scripts.iter().take(MAX_SCRIPTS) {
            let Some(command) = install_command(&skill, Some(script)) else {
                continue;
            };
            let script = line(script);
            output.status(&format!(
                "help: install the packages that `{script}` declares with `{command}`"
            ));
        }
        Ok(())
    }
}

/// The most scripts that are named.
const MAX_SCRIPTS: usize = 8;

/// Selects a script, or all that commands of the skill can start.
pub(super) fn options(script: Option<&str>) -> ExecutionOptions {
    ExecutionOptions {
        target: match script {
            Some(script) => RunTarget::Script(script.to_owned()),
            None => RunTarget::Command(HostCommand::Shell(String::new())),
        },
        ..ExecutionOptions::default()
    }
}

/// Returns a plan as lines: what is missing, then one line for each package.
pub(super) fn plan_lines(plan: &Plan) -> Vec<String> {
    let width = widest(plan.packages.iter().map(|package| package.full_name()));
    let packages = plan.packages.iter().map(|package| {
        let size = package
            .size
            .map(|bytes| format!("  {} kB", bytes.div_ceil(1_000)));
        let built = if package.is_built {
            "  built from source"
        } else {
            ""
        };
        let needed = if package.is_declared {
            ""
        } else {
            "  needed by others"
        };
        let name = line(&package.full_name());
        let text = format!(
            "{name:<width$}  {}  {}{}{built}{needed}",
            line(&package.version),
            line(&package.host),
            size.unwrap_or_default()
        );
        text.trim_end().to_owned()
    });
    packages.collect()
}

pub(super) fn plan_json(plan: &Plan) -> Value {
    json!({
        "packages": plan.packages.iter().map(|package| json!({
            "name": package.full_name(),
            "version": package.version,
            "host": package.host,
            "bytes": package.size,
            "declared": package.is_declared,
            "built": package.is_built,
        })).collect::<Vec<_>>(),
        "bytes": plan.known_size(),
        "tools": plan.tools,
    })
}
