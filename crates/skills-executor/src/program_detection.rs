//! Selects the program of a skill.

use std::sync::Arc;

use serde_json::Value;
use skills_discovery::{Entry, SkillFiles};
use skills_library::{
    LibraryError, ScriptLanguage, SkillPrograms, modules, nested_scripts, root_scripts, scripts,
    unusable_scripts,
};
use skills_manifest::Manifest;
use skills_policy::SandboxChoice;

use crate::error::{Repr, RuntimeError};
use crate::{ExecutionMode, ExecutionOptions, RunTarget};

/// Paths of a skill's WebAssembly module, in order of precedence; after these, any `.wasm` in the
/// skill directory or in `wasm/`.
const WASM_NAMES: [&str; 3] = ["wasm/skill.wasm", "skill.wasm", "module.wasm"];
/// Maximum size of a WebAssembly module, in bytes.
const MAX_MODULE_BYTES: u64 = 32 << 20;

/// Selects the program to run, in the order of the OpenSkills specification:
///
/// 1. the [target](ExecutionOptions::target) of the options, unless it is automatic;
/// 2. `wasm/skill.wasm`, `skill.wasm`, `module.wasm`, else the first `.wasm` by name in the skill's
///    directory or in `wasm/`; after scripts if [`sandbox`](ExecutionOptions::sandbox) is one that
///    runs no modules;
/// 3. a script in `scripts/`, or if it has none, in the skill's directory. Scripts that the `scripts` block of the frontmatter names take
///    precedence. Among these, the one that `action` in the input names, else any other script that
///    it names; else the only one; else `main`.
///
/// Scripts are the files whose first line or extension names a program
/// ([`ScriptLanguage`](skills_library::ScriptLanguage)). If that is a program that the sandbox does not
/// select by itself, the mode is the command that starts it. OpenSkills supports only `.py` and `.sh`:
/// if several scripts remain, these take precedence, so that a helper in another language does not
/// change the result.
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
    Ok(select_program(skill, files, manifest, options)?.mode)
}

/// The program that a run starts.
pub(crate) struct SelectedProgram {
    pub(crate) mode: ExecutionMode,
    /// The script, if its first line names a program of the host that the mode is.
    pub(crate) interpreted: Option<InterpretedScript>,
}

/// A script that a program of the host runs.
pub(crate) struct InterpretedScript {
    /// The path in the skill.
    pub(crate) path: String,
    /// The arguments of the program before the path.
    pub(crate) args: Vec<String>,
}

impl From<ExecutionMode> for SelectedProgram {
    fn from(mode: ExecutionMode) -> Self {
        Self {
            mode,
            interpreted: None,
        }
    }
}

/// Selects the program to run; see [`detect_execution_mode`].
pub(crate) fn select_program(
    skill: &str,
    files: &SkillFiles,
    manifest: &Manifest,
    options: &ExecutionOptions,
) -> Result<SelectedProgram, RuntimeError> {
    match &options.target {
        RunTarget::Automatic => {}
        RunTarget::Command(command) => return Ok(command.mode().into()),
        RunTarget::Script(script) => return named_script(skill, files, script),
        // Names are resolved through the handle of the skill, so `../x.wasm` does not exist.
        RunTarget::Module(module) if module.ends_with(".wasm") && files.contains(module) => {
            return Ok(wasm_mode(module).into());
        }
        RunTarget::Module(module) => {
            return Err(unknown_program(skill, files, module, modules(files)));
        }
    }
    let mut scripts = scripts(files);
    if scripts.is_empty() {
        scripts = root_scripts(files);
    }
    // These run no modules. A skill that has only a module is rejected by the sandbox.
    let prefers_scripts = matches!(
        options.sandbox,
        SandboxChoice::Native | SandboxChoice::Container
    );
    match find_module(files) {
        Some(module) if !prefers_scripts || scripts.is_empty() => Ok(wasm_mode(&module).into()),
        _ => choose_script(skill, files, &scripts, manifest, &options.input),
    }
}

fn find_module(files: &SkillFiles) -> Option<String> {
    let usual = WASM_NAMES.into_iter().find(|name| files.contains(name));
    // The list is sorted, so the first module is the same on every system.
    usual
        .map(str::to_owned)
        .or_else(|| modules(files).into_iter().next())
}

/// Reads a WebAssembly module of a skill.
pub(crate) fn read_module(
    entry: &Entry,
    files: &SkillFiles,
    path: &str,
) -> Result<Arc<[u8]>, RuntimeError> {
    let bytes = files
        .read(path, MAX_MODULE_BYTES)
        .map_err(|source| LibraryError::file_access(entry.directory().join(path), source))?;
    Ok(bytes.into())
}

fn choose_script(
    skill: &str,
    files: &SkillFiles,
    all: &[String],
    manifest: &Manifest,
    input: &Value,
) -> Result<SelectedProgram, RuntimeError> {
    let all: Vec<&String> = all.iter().collect();
    let declared = declared_scripts(&all, manifest);
    // Names that match no file must not leave a skill with nothing to run.
    let candidates = if declared.is_empty() { &all } else { &declared };
    // The action is a choice of the caller, so it can also name a script that is not declared.
    let by_action = [candidates, &all]
        .map(|scripts| filter_scripts(scripts, |script| is_action(script, input)))
        .into_iter()
        .find(|found| !found.is_empty());
    let selected = match by_action {
        Some(found) => found,
        None => {
            let preferred = openskills_scripts(candidates);
            if preferred.len() < 2 {
                let program = preferred
                    .first()
                    .and_then(|script| of_script(files, script));
                return program.ok_or_else(|| nothing_to_run(skill, files));
            }
            filter_scripts(candidates, |script| stem(script) == "main")
        }
    };
    match openskills_scripts(&selected).as_slice() {
        // Which script the input means is the model's to judge.
        [] => Err(ambiguous_script(skill, candidates)),
        [only] => of_script(files, only).ok_or_else(|| nothing_to_run(skill, files)),
        _ => Err(ambiguous_script(skill, &selected)),
    }
}

fn filter_scripts<'a>(scripts: &[&'a String], keep: impl Fn(&str) -> bool) -> Vec<&'a String> {
    scripts
        .iter()
        .filter(|script| keep(script))
        .copied()
        .collect()
}

fn nothing_to_run(skill: &str, files: &SkillFiles) -> RuntimeError {
    let nested = nested_scripts(files);
    Repr::NothingToRun {
        skill: skill.to_owned(),
        candidates: short_names(&nested.iter().collect::<Vec<_>>()),
        unusable: unusable_lines(files, ""),
    }
    .into()
}

/// Returns the `.py` and `.sh` scripts if there are any, else all.
fn openskills_scripts<'a>(scripts: &[&'a String]) -> Vec<&'a String> {
    let preferred = filter_scripts(scripts, |script| {
        script.ends_with(".py") || script.ends_with(".sh")
    });
    if preferred.is_empty() {
        scripts.to_vec()
    } else {
        preferred
    }
}

/// Returns the scripts that the `scripts` block names, by file name or stem.
fn declared_scripts<'a>(all: &[&'a String], manifest: &Manifest) -> Vec<&'a String> {
    let specs = &manifest.extensions().scripts;
    filter_scripts(all, |script| {
        let names = [SkillPrograms::short_name(script), stem(script), script];
        specs.iter().any(|spec| names.contains(&spec.name.as_str()))
    })
}

/// Accepts `run.py`, `scripts/run.py`, a path in the skill, and `run` if only one script, or only one
/// `.py` or `.sh` script, has that stem.
fn named_script(
    skill: &str,
    files: &SkillFiles,
    name: &str,
) -> Result<SelectedProgram, RuntimeError> {
    let name = name.strip_prefix("./").unwrap_or(name);
    let inside = format!("scripts/{name}");
    let exact = [name, inside.as_str()]
        .into_iter()
        .filter(|path| *path != files.file_name() && files.contains(path))
        .find_map(|path| of_script(files, path));
    if let Some(program) = exact {
        return Ok(program);
    }
    let mut scripts = scripts(files);
    scripts.extend(root_scripts(files));
    let all: Vec<&String> = scripts.iter().collect();
    let stems = openskills_scripts(&filter_scripts(&all, |script| stem(script) == name));
    match stems.as_slice() {
        [only] => {
            of_script(files, only).ok_or_else(|| unknown_program(skill, files, name, Vec::new()))
        }
        [] => {
            let nested = nested_scripts(files);
            let all: Vec<&String> = scripts.iter().chain(&nested).collect();
            Err(unknown_program(skill, files, name, short_names(&all)))
        }
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

fn of_script(files: &SkillFiles, script: &str) -> Option<SelectedProgram> {
    Some(match ScriptLanguage::of_file(files, script)? {
        ScriptLanguage::Known(script_type) => ExecutionMode::Native {
            script_path: script.to_owned(),
            script_type,
        }
        .into(),
        ScriptLanguage::Other { program, args } => SelectedProgram {
            mode: ExecutionMode::Command { program },
            interpreted: Some(InterpretedScript {
                path: script.to_owned(),
                args,
            }),
        },
        _ => return None,
    })
}

/// Returns the files that look like scripts and cannot run, one line each.
fn unusable_lines(files: &SkillFiles, name: &str) -> Vec<String> {
    let unusable = unusable_scripts(files, name).into_iter();
    unusable.map(|script| script.to_string()).collect()
}

fn stem(script: &str) -> &str {
    let name = script.rsplit('/').next().unwrap_or(script);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn unknown_program(
    skill: &str,
    files: &SkillFiles,
    program: &str,
    candidates: Vec<String>,
) -> RuntimeError {
    Repr::UnknownProgram {
        skill: skill.to_owned(),
        program: program.to_owned(),
        candidates,
        unusable: unusable_lines(files, program),
    }
    .into()
}

fn ambiguous_script(skill: &str, candidates: &[&String]) -> RuntimeError {
    Repr::AmbiguousScript {
        skill: skill.to_owned(),
        candidates: short_names(candidates),
    }
    .into()
}

fn short_names(scripts: &[&String]) -> Vec<String> {
    scripts
        .iter()
        .map(|script| SkillPrograms::short_name(script).to_owned())
        .collect()
}
