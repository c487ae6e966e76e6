//! Selects the program of a skill.

use std::sync::Arc;

use serde_json::Value;
use skills_discovery::{DiscoveryError, Entry, SkillFiles};
use skills_manifest::Manifest;
use skills_sandbox::ScriptType;

use crate::error::{Repr, RuntimeError};
use crate::{ExecutionMode, ExecutionOptions};

/// Paths of a skill's WebAssembly module, in order of precedence; after these, any `.wasm` in the
/// skill directory or in `wasm/`.
const WASM_NAMES: [&str; 3] = ["wasm/skill.wasm", "skill.wasm", "module.wasm"];
const WASM_DIRECTORIES: [&str; 2] = ["", "wasm"];
const SCRIPTS_DIRECTORY: &str = "scripts";
/// Maximum size of a WebAssembly module, in bytes.
const MAX_MODULE_BYTES: u64 = 32 << 20;

/// Selects the program to run, in the order of the OpenSkills specification:
///
/// 1. [`ExecutionOptions::command`], [`ExecutionOptions::wasm_module`], then
///    [`ExecutionOptions::script`];
/// 2. `wasm/skill.wasm`, `skill.wasm`, `module.wasm`, else the first `.wasm` by name in the skill's
///    directory or in `wasm/`;
/// 3. a script in `scripts/`. Scripts that the `scripts` block of the frontmatter names take
///    precedence. Among these, the one that `action` in the input names, else any other script that
///    it names; else the only one; else `main`.
///
/// Scripts are the files that [`ScriptType::from_path`] recognizes. OpenSkills supports only `.py`
/// and `.sh`: if several scripts remain, these take precedence, so that a helper in another
/// language does not change the result.
///
/// # Errors
/// Fails if the requested program does not exist or is outside the skill, if there is nothing to
/// run, or if several scripts remain: a script is never guessed.
pub fn detect_execution_mode(
    skill: &str,
    files: &SkillFiles,
    manifest: &Manifest,
    options: &ExecutionOptions,
) -> Result<ExecutionMode, RuntimeError> {
    if let Some(command) = &options.command {
        return Ok(ExecutionMode::Command {
            program: command.program().to_owned(),
        });
    }
    if let Some(module) = &options.wasm_module {
        // Names are resolved through the handle of the skill, so `../x.wasm` does not exist.
        let is_module = module.ends_with(".wasm") && files.contains(module);
        return if is_module {
            Ok(wasm_mode(module))
        } else {
            Err(unknown_program(skill, module, modules(files)))
        };
    }
    if let Some(script) = &options.script {
        return named_script(skill, files, script);
    }
    if let Some(module) = WASM_NAMES.into_iter().find(|name| files.contains(name)) {
        return Ok(wasm_mode(module));
    }
    // The list is sorted, so the first module is the same on every system.
    if let Some(module) = modules(files).first() {
        return Ok(wasm_mode(module));
    }
    choose_script(skill, &scripts(files), manifest, &options.input)
}

/// Reads a WebAssembly module of a skill.
pub(crate) fn read_module(
    entry: &Entry,
    files: &SkillFiles,
    path: &str,
) -> Result<Arc<[u8]>, RuntimeError> {
    let bytes = files.read(path, MAX_MODULE_BYTES);
    Ok(Arc::from(bytes.map_err(|source| Repr::FileAccess {
        path: entry.directory().join(path),
        source,
    })?))
}

fn choose_script(
    skill: &str,
    all: &[String],
    manifest: &Manifest,
    input: &Value,
) -> Result<ExecutionMode, RuntimeError> {
    let declared = declared_scripts(all, manifest);
    // Names that match no file must not leave a skill with nothing to run.
    let candidates: Vec<&String> = if declared.is_empty() {
        all.iter().collect()
    } else {
        declared
    };
    let mut by_action: Vec<&String> = candidates
        .iter()
        .filter(|script| is_action(script, input))
        .copied()
        .collect();
    // The action is a choice of the caller, so it can also name a script that is not declared.
    if by_action.is_empty() {
        by_action = all
            .iter()
            .filter(|script| is_action(script, input))
            .collect();
    }
    if by_action.is_empty() {
        match openskills_scripts(candidates.clone()).as_slice() {
            [] => return Err(nothing_to_run(skill)),
            [only] => return script_mode(skill, only),
            _ => {}
        }
    }
    let selected = if by_action.is_empty() {
        candidates
            .iter()
            .filter(|script| stem(script) == "main")
            .copied()
            .collect()
    } else {
        by_action
    };
    match openskills_scripts(selected.clone()).as_slice() {
        // Which script the input means is the model's to judge.
        [] => Err(ambiguous_script(skill, &candidates)),
        [only] => script_mode(skill, only),
        _ => Err(ambiguous_script(skill, &selected)),
    }
}

fn script_mode(skill: &str, script: &str) -> Result<ExecutionMode, RuntimeError> {
    native_mode(script).ok_or_else(|| nothing_to_run(skill))
}

fn nothing_to_run(skill: &str) -> RuntimeError {
    Repr::NothingToRun {
        skill: skill.to_owned(),
    }
    .into()
}

/// Returns the `.py` and `.sh` scripts if there are any, else all.
fn openskills_scripts(scripts: Vec<&String>) -> Vec<&String> {
    let preferred: Vec<&String> = scripts
        .iter()
        .filter(|script| script.ends_with(".py") || script.ends_with(".sh"))
        .copied()
        .collect();
    if preferred.is_empty() {
        scripts
    } else {
        preferred
    }
}

/// Returns the scripts that the `scripts` block names, by file name or stem.
fn declared_scripts<'a>(all: &'a [String], manifest: &Manifest) -> Vec<&'a String> {
    let specs = &manifest.extensions().scripts;
    let is_named = |script: &&String| {
        specs.iter().any(|spec| {
            [short_name(script), stem(script), script.as_str()].contains(&spec.name.as_str())
        })
    };
    all.iter().filter(is_named).collect()
}

/// Accepts `run.py`, `scripts/run.py`, and `run` if only one script, or only one `.py` or `.sh`
/// script, has that stem.
fn named_script(
    skill: &str,
    files: &SkillFiles,
    name: &str,
) -> Result<ExecutionMode, RuntimeError> {
    let inside = format!("{SCRIPTS_DIRECTORY}/{name}");
    let exact = [name, inside.as_str()]
        .into_iter()
        .find(|path| ScriptType::from_path(path.as_ref()).is_some() && files.contains(path));
    if let Some(mode) = exact.and_then(native_mode) {
        return Ok(mode);
    }
    let scripts = scripts(files);
    let stems = openskills_scripts(
        scripts
            .iter()
            .filter(|script| stem(script) == name)
            .collect(),
    );
    match stems.as_slice() {
        [only] => native_mode(only).ok_or_else(|| unknown_program(skill, name, Vec::new())),
        [] => Err(unknown_program(
            skill,
            name,
            scripts
                .iter()
                .map(|script| short_name(script).to_owned())
                .collect(),
        )),
        _ => Err(ambiguous_script(skill, &stems)),
    }
}

/// Returns true if `action` in the input names a script; `-` and `_` are equal.
fn is_action(script: &str, input: &Value) -> bool {
    let action = input
        .get("action")
        .and_then(Value::as_str)
        .map(|action| action.replace('-', "_"));
    action.is_some_and(|action| stem(script).replace('-', "_") == action)
}

fn wasm_mode(module: &str) -> ExecutionMode {
    ExecutionMode::Wasm {
        wasm_module: module.to_owned(),
    }
}

fn native_mode(script: &(impl AsRef<str> + ?Sized)) -> Option<ExecutionMode> {
    let script = script.as_ref();
    let script_type = ScriptType::from_path(script.as_ref())?;
    Some(ExecutionMode::Native {
        script_path: script.to_owned(),
        script_type,
    })
}

fn modules(files: &SkillFiles) -> Vec<String> {
    WASM_DIRECTORIES
        .into_iter()
        .flat_map(|directory| resource_paths(files.list_directory(directory)))
        .filter(|path| path.ends_with(".wasm"))
        .collect()
}

pub(crate) fn scripts(files: &SkillFiles) -> Vec<String> {
    let paths = resource_paths(files.list_directory(SCRIPTS_DIRECTORY));
    paths
        .filter(|path| ScriptType::from_path(path.as_ref()).is_some())
        .collect()
}

/// Returns the paths of resources; none for a directory that cannot be listed.
fn resource_paths(
    resources: Result<Vec<skills_discovery::Resource>, DiscoveryError>,
) -> impl Iterator<Item = String> {
    resources
        .unwrap_or_default()
        .into_iter()
        .map(|resource| resource.path)
}

fn stem(script: &str) -> &str {
    let name = script.rsplit('/').next().unwrap_or(script);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Returns the name of a script as users write it.
pub(crate) fn short_name(script: &str) -> &str {
    script.strip_prefix("scripts/").unwrap_or(script)
}

fn unknown_program(skill: &str, program: &str, candidates: Vec<String>) -> RuntimeError {
    Repr::UnknownProgram {
        skill: skill.to_owned(),
        program: program.to_owned(),
        candidates,
    }
    .into()
}

fn ambiguous_script(skill: &str, candidates: &[&String]) -> RuntimeError {
    let candidates = candidates
        .iter()
        .map(|script| short_name(script).to_owned())
        .collect();
    Repr::AmbiguousScript {
        skill: skill.to_owned(),
        candidates,
    }
    .into()
}
