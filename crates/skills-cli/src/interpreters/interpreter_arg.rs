//! An interpreter as options and settings name it.

use std::path::PathBuf;

use skills_runtime::ScriptType;

use crate::words::parse_script_type;

/// An interpreter for the scripts of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterpreterArg {
    /// The skill that it runs scripts of; `None` for all.
    pub(crate) skill: Option<String>,
    pub(crate) kind: ScriptType,
    /// The path as given, which can be relative.
    pub(crate) path: PathBuf,
}

/// Parses `KIND=PATH` or `SKILL:KIND=PATH`.
pub(crate) fn parse_interpreter(text: &str) -> Result<InterpreterArg, String> {
    let (name, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or_else(|| "expected KIND=PATH or SKILL:KIND=PATH".to_owned())?;
    let (skill, name) = match name.split_once(':') {
        Some((skill, name)) => (Some(skill.to_owned()), name),
        None => (None, name),
    };
    Ok(InterpreterArg {
        skill,
        kind: parse_script_type("script type", name)?,
        path: PathBuf::from(path),
    })
}
