//! Remedies for a failed run, as options of this command.

use std::path::{Path, PathBuf};

use skills_runtime::policy::is_unsafe_variable;
use skills_runtime::{MissingPackage, Remedy, ScriptType, WithheldVariable};

use crate::process_environment::Environment;
use crate::shell::{is_shell_word, shell_package, shell_word};
use crate::suggested_command::complete_commands;
use crate::virtual_env;

/// Where a remedy's option is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemedyStyle {
    /// To `skills run`, which failed.
    Run,
    /// To `skills call`, which failed. It passes no values of variables but those of a file.
    Call,
    /// To the server; a model cannot pass it.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "of `skills mcp`"))]
    Server,
}

/// Describes remedies with the options of this command.
#[derive(Clone)]
pub(crate) struct RemedyDescriptions {
    style: RemedyStyle,
    environment: Environment,
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
            environment: environment.clone(),
            pythons: environments.into_iter().map(|found| found.python).collect(),
        }
    }

    /// Returns what to do, in the imperative; `None` if no option helps. A model that reads it asks
    /// its user to do it.
    pub(crate) fn describe(&self, remedy: &Remedy) -> Option<String> {
        let text = self.describe_remedy(remedy)?;
        let (condition, ask) = match (self.style, remedy) {
            (RemedyStyle::Run | RemedyStyle::Call, _) => return Some(complete_commands(&text)),
            // A model can do it in its own files, and no user has to install what only the program
            // names.
            (RemedyStyle::Server, Remedy::ConvertLineEnds { .. } | Remedy::StartAgain) => ("", ""),
            (RemedyStyle::Server, Remedy::Package { missing, .. }) if missing.is_only_reported => {
                ("", "")
            }
            (RemedyStyle::Server, _) => (condition(remedy), "ask your user to "),
        };
        let action = text.strip_prefix(condition).unwrap_or(&text);
        Some(format!("{condition}{ask}{action}"))
    }

    fn describe_remedy(&self, remedy: &Remedy) -> Option<String> {
        let action = match remedy {
            Remedy::Allow { .. } | Remedy::Reveal { .. } => match self.style {
                RemedyStyle::Run | RemedyStyle::Call => "allow it with",
                RemedyStyle::Server => "add",
            },
            Remedy::AllowNext { .. } => "add",
            Remedy::KeepHome { .. } => "keep the files in the home directory of the user with",
            Remedy::AllowHost => "allow the host with",
            Remedy::AllowProgram => "allow the program by its name with",
            Remedy::Workspace => "give it a directory for its files with",
            Remedy::PassVariable(variable) => {
                let action = self.pass_variable(variable)?;
                return Some(format!("{}{action}", condition(remedy)));
            }
            Remedy::Memory { limit_bytes, .. } => {
                &format!("give it more memory than {} MiB with", limit_bytes >> 20)
            }
            Remedy::RaiseLimit { .. } => "raise the limit with",
            Remedy::Timeout { .. } => "give it more time with",
            Remedy::IgnoreRequirements => "run it anyway with",
            Remedy::ConvertLineEnds { .. } => {
                let action = "convert the line ends of the script to LF, as `dos2unix` does";
                return Some(action.to_owned());
            }
            Remedy::StartAgain => {
                return Some("start it again: what was refused is allowed now".to_owned());
            }
            Remedy::Package { skill, missing } => return Some(self.package(skill, missing)),
            Remedy::AcceptDraft { name } => {
                let name = shell_word(name)?;
                return Some(format!("accept it with `skills accept {name}`"));
            }
            Remedy::ApproveHooks { skill } => {
                let skill = shell_word(skill)?;
                return Some(format!(
                    "approve its hooks with `skills trust {skill} --hooks`"
                ));
            }
            _ => return None,
        };
        let options = options(&remedy.command_arguments())?;
        let option = match self.style {
            RemedyStyle::Server if action == "add" => format!("`{options}` to the skills server"),
            _ => self.option(&options),
        };
        let text = format!("{}{action} {option}", condition(remedy));
        let reading = match remedy {
            Remedy::Reveal { reading, .. } => reading.as_ref().and_then(|rule| rule_word(rule)),
            _ => None,
        };
        Some(match reading {
            Some(rule) => format!("{text}; `--allow {rule}` is enough for commands that only read"),
            None => text,
        })
    }

    /// Returns how to pass a variable that the skill declares, if it is set and programs may have it.
    pub(crate) fn pass_set_variable(&self, name: &str) -> Option<String> {
        let is_set = self.environment.variable(name).is_some() && !is_unsafe_variable(name);
        is_set.then(|| {
            format!(
                "`{name}` is set; pass it with {}",
                self.option(&format!("--env {name}"))
            )
        })
    }

    /// Returns how to pass a variable. A server passes only what a skill declares.
    fn pass_variable(&self, variable: &WithheldVariable) -> Option<String> {
        let name = &shell_word(&variable.name)?;
        let option = match self.style {
            RemedyStyle::Run if self.environment.variable(name).is_some() => {
                format!("--env {name}")
            }
            RemedyStyle::Run => format!("--env {name}=VALUE"),
            _ if variable.is_declared => {
                format!("--env-file FILE --allow env:{name}")
            }
            _ => return None,
        };
        Some(format!("pass it with {}", self.option(&option)))
    }

    /// Returns how to get a missing package, or an interpreter that has it.
    fn package(&self, skill: &str, missing: &MissingPackage) -> String {
        let package = missing.name();
        let (kind, interpreter) = (missing.script_type, missing.interpreter.as_deref());
        let get = match (missing.is_only_reported, missing.is_started_by_script) {
            (true, _) => check_package(package),
            (false, true) => started_interpreter(kind, package),
            (false, false) => install_package(kind, interpreter, package),
        };
        if missing.is_started_by_script {
            return get;
        }
        if let Some(rule) = missing.allowing_rule.as_deref().and_then(rule_word) {
            return self.allow_package(&rule, package, interpreter);
        }
        let other = self.interpreter(kind, interpreter, get);
        let install = install_command(skill, missing.declaring_script.as_deref());
        let packages = if missing.is_installable {
            install.map(|install| format!("install its packages with `{install}`"))
        } else {
            install.and_then(|install| accept_packages(skill, &missing.acceptable, &install))
        };
        match packages {
            Some(packages) => format!("{packages}, or {other}"),
            None => other,
        }
    }

    /// Returns how to allow exactly one package, or to use the virtual environment of the user.
    fn allow_package(&self, rule: &str, package: &str, ran: Option<&Path>) -> String {
        let allow = match self.style {
            RemedyStyle::Run | RemedyStyle::Call => {
                format!("allow exactly the package `{package}` with `--allow {rule}`")
            }
            RemedyStyle::Server => format!(
                "add `--allow {rule}` to the skills server, which allows exactly the package `{package}`"
            ),
        };
        match self.environment_option(ScriptType::Python, ran) {
            Some(other) => format!("{allow}, or {other}"),
            None => allow,
        }
    }

    /// Returns how to run with the Python of the virtual environment of the user, if there is another one
    /// than the one that ran.
    fn environment_option(&self, script_type: ScriptType, ran: Option<&Path>) -> Option<String> {
        let mut pythons = self.pythons.iter();
        let other = pythons
            .find(|python| script_type == ScriptType::Python && Some(python.as_path()) != ran);
        let python = shell_word(&other?.to_string_lossy())?;
        let option = self.option(&format!("--interpreter python={python}"));
        let instead = ran.map(|ran| format!(" instead of `{}`", ran.display()));
        let instead = instead.unwrap_or_default();
        Some(format!(
            "run it with the Python of the virtual environment{instead}: {option}"
        ))
    }

    /// Returns how to run with an interpreter that has a package, or how to `get` the package.
    fn interpreter(&self, script_type: ScriptType, ran: Option<&Path>, get: String) -> String {
        if let Some(other) = self.environment_option(script_type, ran) {
            return other;
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
            RemedyStyle::Run | RemedyStyle::Call => format!("`{option}`"),
            RemedyStyle::Server => format!("`{option}` on the skills server"),
        }
    }
}

/// Returns when a remedy is one, with the space after it.
fn condition(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::AllowNext { .. } => "its script also starts programs; for these ",
        Remedy::PassVariable(WithheldVariable {
            is_declared: false, ..
        }) => "if the skill is to have its value, ",
        _ => "",
    }
}

/// Returns arguments as a user types them, each option with its value once; `None` without any that can
/// be copied into a shell: a program can print any name.
fn options(arguments: &[String]) -> Option<String> {
    let mut options: Vec<String> = Vec::new();
    for pair in arguments.chunks(2) {
        let words: Option<Vec<String>> = pair[1..].iter().map(|word| rule_word(word)).collect();
        let option = words.map(|words| [&pair[..1], &words].concat().join(" "));
        options.extend(option.filter(|option| !options.contains(option)));
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
