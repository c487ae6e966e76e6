//! Selection of script interpreters. Scripts run on Unix only.

mod interpreter_arg;
#[cfg(unix)]
mod project_version;
#[cfg(unix)]
mod trusted_path;

use std::path::Path;

use skills_runtime::{
    Builder, PlannedRun, RuntimeError, SandboxError, SandboxErrorKind, ScriptType,
};

use crate::error::CommandError;
use crate::file_mode::has_execute_bit;
use crate::process_environment::Environment;
use crate::settings::Settings;

pub(crate) use interpreter_arg::{InterpreterArg, parse_interpreter};

/// Configures interpreters: the given ones, else those of the settings, else those of the versions
/// that the project chooses, else those of the system, else those in trusted directories of `PATH`.
#[cfg(unix)]
pub(crate) fn configure(
    builder: Builder,
    given: &[InterpreterArg],
    settings: &[InterpreterArg],
    environment: &Environment,
) -> anyhow::Result<Builder> {
    for interpreter in given {
        // Also for a type that does not run, since the path was given for this command.
        check_interpreter(interpreter.kind, &interpreter.path)?;
    }
    let all: Vec<&InterpreterArg> = settings.iter().chain(given).collect();
    let finder = skills_runtime::ProgramFinder::default();
    let finder = finder.with_fallback_path(trusted_path::trusted_dirs(environment));
    let of_project = project_version::chosen(environment).into_iter();
    let finder = of_project.fold(finder, |finder, (kind, path)| {
        finder.override_interpreter(kind, path)
    });
    let override_interpreter = |finder, known| override_interpreter(finder, known, environment);
    let shared = all.iter().filter(|known| known.skill.is_none());
    let finder = shared.copied().try_fold(finder, override_interpreter)?;
    let mut skills: Vec<&String> = all
        .iter()
        .filter_map(|known| known.skill.as_ref())
        .collect();
    skills.sort_unstable();
    skills.dedup();
    let mut builder = builder;
    for skill in skills {
        // Options of the command line apply last, so that they win over settings for one skill.
        let of_skill = |known: &InterpreterArg| known.skill.as_ref() == Some(skill);
        let of_settings = settings.iter();
        let mut own = of_settings
            .filter(|known| of_skill(known))
            .chain(given.iter().filter(|known| known.skill.is_none()))
            .chain(given.iter().filter(|known| of_skill(known)));
        let own = own.try_fold(finder.clone(), override_interpreter)?;
        builder = builder.skill_program_finder(skill, own);
    }
    Ok(builder.program_finder(finder))
}

#[cfg(unix)]
fn override_interpreter(
    finder: skills_runtime::ProgramFinder,
    chosen: &InterpreterArg,
    environment: &Environment,
) -> anyhow::Result<skills_runtime::ProgramFinder> {
    // Symlinks are not resolved: Python finds its virtual environment by the path of the symlink.
    let path = std::path::absolute(&chosen.path)?;
    let behind_shim = project_version::behind_shim(chosen.kind, &path, environment);
    Ok(finder.override_interpreter(chosen.kind, behind_shim.unwrap_or(path)))
}

/// Returns why the version that the project chooses for scripts of a type is not used, as a
/// sentence; `None` if it is, or if the project chooses none.
#[cfg(unix)]
pub(crate) fn unused_version(kind: ScriptType, environment: &Environment) -> Option<String> {
    let default = skills_runtime::ProgramFinder::default().find_interpreter(kind);
    let default = default.ok().map(|found| found.executable);
    project_version::reason_against(kind, default.as_deref(), environment)
}

#[cfg(not(unix))]
pub(crate) fn unused_version(_kind: ScriptType, _environment: &Environment) -> Option<String> {
    None
}

#[cfg(not(unix))]
pub(crate) fn configure(
    builder: Builder,
    given: &[InterpreterArg],
    _settings: &[InterpreterArg],
    _environment: &Environment,
) -> anyhow::Result<Builder> {
    for interpreter in given {
        check_interpreter(interpreter.kind, &interpreter.path)?;
    }
    Ok(builder)
}

/// Replaces the interpreter of a planned run.
pub(crate) fn replace(planned: PlannedRun, chosen: &InterpreterArg) -> anyhow::Result<PlannedRun> {
    check_interpreter(chosen.kind, &chosen.path)?;
    // Symlinks are not resolved, as for all interpreters.
    let path = std::path::absolute(&chosen.path)?;
    Ok(planned.with_interpreter(chosen.kind, path))
}

/// Rejects a path that is not an executable file.
fn check_interpreter(kind: ScriptType, path: &Path) -> anyhow::Result<()> {
    let Some(message) = unusable(path) else {
        return Ok(());
    };
    let (kind, program) = (kind.as_str(), kind.program_names()[0]);
    anyhow::bail!(CommandError::input(message).with_help(format!(
        "pass the path of an executable file, such as `--interpreter {kind}=/usr/bin/{program}`; `PATH` is not searched"
    )))
}

/// Returns why a path is not that of an interpreter, as a message; `None` if it is an executable
/// file. A link is followed.
pub(crate) fn unusable(path: &Path) -> Option<String> {
    let cause = match path.metadata() {
        Ok(file) if !file.is_file() => "not a regular file".to_owned(),
        Ok(_) if !has_execute_bit(path) => "not executable".to_owned(),
        Ok(_) => return None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "not found".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!(
        "cannot use interpreter `{}`: {cause}",
        path.display()
    ))
}

/// Adds to the error of an unavailable interpreter how to change the setting that names it, if there
/// is one. Other errors are returned unchanged.
pub(crate) fn explain_error(error: anyhow::Error, settings: &Settings) -> anyhow::Error {
    let Some(failed) = error.downcast_ref::<RuntimeError>() else {
        return error;
    };
    if failed.sandbox().map(SandboxError::kind) != Some(SandboxErrorKind::Unavailable) {
        return error;
    }
    let message = failed.to_string();
    let mut sources = settings.sources.iter().rev();
    let named = sources
        .find(|(key, path, _)| key.is_interpreter() && message.contains(&format!("`{path}`")));
    let Some((key, ..)) = named else {
        return error;
    };
    let hint = format!(
        "the setting `{key}` names this path; `skills config show` says in which file, and `skills config set {key} PATH` sets another one for the user"
    );
    CommandError::with_hint(failed, hint).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_argument_is_a_type_and_a_path() {
        let read = parse_interpreter("python=.venv/bin/a=b").unwrap();
        assert_eq!(
            read,
            InterpreterArg {
                skill: None,
                kind: ScriptType::Python,
                path: ".venv/bin/a=b".into()
            }
        );
        let of_skill = parse_interpreter("pdf:node=/n").unwrap();
        assert_eq!(of_skill.skill.as_deref(), Some("pdf"));
        for (wrong, message) in [
            ("python", "expected KIND=PATH or SKILL:KIND=PATH"),
            ("python=", "expected KIND=PATH or SKILL:KIND=PATH"),
            (
                "pdf:nod=/x",
                "unknown script type `nod`; did you mean `node`?",
            ),
            (
                "Pyhton3=/x",
                "unknown script type `Pyhton3`; did you mean `python`?",
            ),
            ("nod=/x", "unknown script type `nod`; did you mean `node`?"),
            (
                "lua=/x",
                "unknown script type `lua`: expected one of python, shell, node, deno, ruby, perl",
            ),
            (
                "=/x",
                "unknown script type ``: expected one of python, shell, node, deno, ruby, perl",
            ),
        ] {
            assert_eq!(parse_interpreter(wrong), Err(message.to_owned()), "{wrong}");
        }
    }
}
