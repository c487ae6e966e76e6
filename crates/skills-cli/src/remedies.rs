//! Remedies for a failed run, as options of this command.

use std::path::{Path, PathBuf};

use skills_runtime::{ResourceLimits, ScriptType};
use skills_tools::Remedy;

use crate::process_environment::Environment;
use crate::settings::MAX_MIB;
use crate::shell::{is_shell_word, shell_package, shell_word};
use crate::suggested_command::complete_commands;
use crate::virtual_env;

/// Factor by which an insufficient limit is raised.
const FACTOR: u64 = 4;

/// Where a remedy's option is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemedyStyle {
    /// To the command that failed.
    Option,
    /// To the server; a model cannot pass it.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "of `skills mcp`"))]
    Server,
}

/// Describes remedies with the options of this command.
#[derive(Debug, Clone)]
pub(crate) struct RemedyDescriptions {
    style: RemedyStyle,
    workspace: Option<PathBuf>,
    /// The interpreters of virtual environments that the user could choose.
    pythons: Vec<PathBuf>,
}

impl RemedyDescriptions {
    pub(crate) fn new(
        style: RemedyStyle,
        workspace: Option<&Path>,
        environment: &Environment,
    ) -> Self {
        let environments = virtual_env::find_all(environment, workspace);
        Self {
            style,
            workspace: workspace.map(Path::to_owned),
            pythons: environments.into_iter().map(|found| found.python).collect(),
        }
    }

    /// Returns what to do, in the imperative; `None` if no option helps.
    pub(crate) fn describe(&self, remedy: &Remedy) -> Option<String> {
        let text = self.describe_remedy(remedy)?;
        Some(match self.style {
            RemedyStyle::Option => complete_commands(&text),
            // A model reads it, which need not know the directories of the server.
            RemedyStyle::Server => text,
        })
    }

    fn describe_remedy(&self, remedy: &Remedy) -> Option<String> {
        match remedy {
            Remedy::Allow(targets) => self.allow(targets),
            Remedy::AllowNext(targets) => {
                let option = self.option(&allow_options(targets)?);
                Some(format!(
                    "its script also starts programs; for these add {option}"
                ))
            }
            Remedy::KeepHome(targets) => {
                let option = self.option(&allow_options(targets)?);
                Some(format!(
                    "keep the files in the home directory of the user with {option}"
                ))
            }
            Remedy::AllowHost => {
                let option = self.option("--allow network:HOST");
                Some(format!("allow the host with {option}"))
            }
            Remedy::AllowProgram => {
                let option = self.option("--allow spawn:PROGRAM");
                Some(format!("allow the program by its name with {option}"))
            }
            Remedy::Workspace => {
                let option = self.option("--workspace DIR");
                Some(format!("give it a directory for its files with {option}"))
            }
            Remedy::Interpreter {
                package,
                is_started_by_script: true,
                is_only_reported: true,
                ..
            } => Some(check_package(package)),
            Remedy::Interpreter {
                package,
                script_type,
                is_started_by_script: true,
                ..
            } => Some(started_interpreter(*script_type, package)),
            Remedy::Interpreter {
                skill,
                script_type,
                interpreter,
                package,
                is_only_reported,
                is_installable,
                declaring_script,
                acceptable,
                ..
            } => {
                let get = if *is_only_reported {
                    check_package(package)
                } else {
                    install_package(*script_type, interpreter.as_deref(), package)
                };
                let other = self.interpreter(*script_type, interpreter.as_deref(), get);
                let install = install_command(skill, declaring_script.as_deref());
                let packages = if *is_installable {
                    install.map(|install| format!("install its packages with `{install}`"))
                } else {
                    install.and_then(|install| accept_packages(skill, acceptable, &install))
                };
                Some(match packages {
                    Some(packages) => format!("{packages}, or {other}"),
                    None => other,
                })
            }
            Remedy::Memory { limit_bytes } => {
                let limit_mib = limit_bytes >> 20;
                let raised = (limit_mib * FACTOR).clamp(1, MAX_MIB);
                (raised > limit_mib).then(|| {
                    let option = self.option(&format!("--memory {raised}"));
                    format!("give it more memory than {limit_mib} MiB with {option}")
                })
            }
            Remedy::Timeout { limit_ms } => {
                let max = ResourceLimits::default_ceiling().wall_time.as_secs();
                let raised = (limit_ms * FACTOR).div_ceil(1_000).min(max);
                (raised * 1_000 > *limit_ms).then(|| {
                    let option = self.option(&format!("--timeout {raised}"));
                    format!("give it more time with {option}")
                })
            }
            Remedy::IgnoreRequirements => {
                let option = self.option("--ignore-requirements");
                Some(format!("run it anyway with {option}"))
            }
            Remedy::AcceptDraft { name } => {
                let name = shell_word(name)?;
                Some(format!("accept it with `skills accept {name}`"))
            }
            Remedy::ApproveHooks { skill } => {
                let skill = shell_word(skill)?;
                Some(format!(
                    "approve its hooks with `skills trust {skill} --hooks`"
                ))
            }
            _ => None,
        }
    }

    fn allow(&self, targets: &[String]) -> Option<String> {
        let targets: Vec<String> = targets.iter().map(|target| self.widen(target)).collect();
        let option = self.option(&allow_options(&targets)?);
        Some(format!("allow it with {option}"))
    }

    /// Returns the rule for the workspace if a target is a path that is written in it: a rule for a
    /// file that does not exist would create a directory, and the next file would need another.
    fn widen(&self, target: &str) -> String {
        let path = target.strip_prefix("write:").map(Path::new);
        match (&self.workspace, path) {
            (Some(workspace), Some(path)) if path.starts_with(workspace) => {
                format!("write:{}", workspace.display())
            }
            _ => target.to_owned(),
        }
    }

    /// Returns how to run with an interpreter that has a package, or how to `get` the package.
    fn interpreter(&self, script_type: ScriptType, ran: Option<&Path>, get: String) -> String {
        let other = self
            .pythons
            .iter()
            .find(|python| script_type == ScriptType::Python && Some(python.as_path()) != ran);
        let other = other.and_then(|python| shell_word(&python.to_string_lossy()));
        if let Some(python) = other {
            let option = self.option(&format!("--interpreter python={python}"));
            let instead = ran.map(|ran| format!(" instead of `{}`", ran.display()));
            let instead = instead.unwrap_or_default();
            return format!("run it with the Python of the virtual environment{instead}: {option}");
        }
        if script_type == ScriptType::Node {
            return get;
        }
        let kind = script_type.as_str();
        let option = self.option(&format!("--interpreter {kind}=PATH"));
        format!("{get}, or choose an interpreter that has it with {option}")
    }

    /// Returns an option as the user passes it.
    fn option(&self, option: &str) -> String {
        match self.style {
            RemedyStyle::Option => format!("`{option}`"),
            RemedyStyle::Server => {
                format!("`skills mcp {option}`, the command that starts the server")
            }
        }
    }
}

/// Returns the options that allow targets, each once; `None` without any that can be copied into a
/// shell: a program can print any name.
fn allow_options(targets: &[String]) -> Option<String> {
    let mut options = Vec::new();
    for target in targets.iter().filter_map(|target| rule_word(target)) {
        let option = format!("--allow {target}");
        if !options.contains(&option) {
            options.push(option);
        }
    }
    (!options.is_empty()).then(|| options.join(" "))
}

/// Returns a rule as one word of a shell. No shell expands a tilde after a colon there.
fn rule_word(rule: &str) -> Option<String> {
    match rule.split_once(":~/") {
        Some((_, path)) if is_shell_word(path) => Some(rule.to_owned()),
        _ => shell_word(rule),
    }
}

/// Returns how to install a package for the interpreter that ran.
fn install_package(script_type: ScriptType, ran: Option<&Path>, package: &str) -> String {
    if script_type == ScriptType::Node {
        return format!(
            "install `{package}` with npm in a `node_modules` directory of the workspace or of a directory above the skill"
        );
    }
    let ran = match ran {
        Some(ran) => format!("`{}`", ran.display()),
        None => "the interpreter".to_owned(),
    };
    format!("install `{package}` for {ran}")
}

/// Returns what to do about a package that only the output of a program names. No command installs
/// it: a program can print the name of a package that its author controls.
fn check_package(package: &str) -> String {
    format!(
        "only the program names `{package}`: before you install it, check that it is a package that you trust"
    )
}

/// Returns what helps if an interpreter that the script starts has no package. Options select the
/// interpreters of scripts only.
fn started_interpreter(script_type: ScriptType, package: &str) -> String {
    if script_type == ScriptType::Node {
        return format!("install `{package}` where the `node` that the script starts finds it");
    }
    format!("install `{package}` for the `python3` that the script starts")
}

/// Returns how the user accepts packages for a skill that does not declare them, in the imperative;
/// `None` without packages.
fn accept_packages(skill: &str, packages: &[String], install: &str) -> Option<String> {
    let command = accept_command(skill, packages)?;
    Some(format!(
        "accept its packages with `{command}` and install them with `{install}`"
    ))
}

/// Returns the command that installs the packages of a skill, or those of a script that declares its
/// own; `None` if a name needs more than quotes.
pub(crate) fn install_command(skill: &str, script: Option<&str>) -> Option<String> {
    let skill = shell_word(skill)?;
    Some(match script {
        Some(script) => format!(
            "skills deps install {skill} --script {}",
            shell_word(script)?
        ),
        None => format!("skills deps install {skill}"),
    })
}

/// Returns the command that accepts packages for a skill; `None` without packages, or if a name needs
/// more than quotes.
pub(crate) fn accept_command(skill: &str, packages: &[String]) -> Option<String> {
    let skill = shell_word(skill)?;
    let words: Option<Vec<String>> = packages.iter().map(|text| shell_package(text)).collect();
    let words = words.filter(|words| !words.is_empty())?;
    Some(format!(
        "skills config set skills.{skill}.packages {}",
        words.join(" ")
    ))
}
