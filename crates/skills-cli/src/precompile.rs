//! `skills precompile`.

use serde_json::{Value, json};
use skills_runtime::{Preparation, SkillRuntime};

use crate::arguments::Precompile;
use crate::exit::Exit;
use crate::failure;
use crate::input;
use crate::output::Output;
use crate::state;

/// What became of one skill.
struct Done {
    skill: String,
    result: Result<Preparation, anyhow::Error>,
}

/// Compiles the WebAssembly of the named skills, or of all, so that no run has to wait for it.
pub(crate) fn precompile(
    runtime: &SkillRuntime,
    arguments: &Precompile,
    output: &Output,
) -> anyhow::Result<Exit> {
    let cache = state::code_cache()?;
    let cleared = arguments.clear.then(|| cache.clear()).transpose()?;
    if let Some(cleared) = &cleared {
        output.note(&format!(
            "deleted {} compiled modules, {} bytes",
            cleared.artifacts(),
            cleared.bytes()
        ));
    }
    let clears_only = arguments.clear && arguments.skills.is_empty();
    let all = if clears_only {
        Vec::new()
    } else {
        compile(runtime, arguments, output)?
    };
    if output.is_json() {
        let deleted =
            cleared.map(|usage| json!({"modules": usage.artifacts(), "bytes": usage.bytes()}));
        output.document(
            &json!({"deleted": deleted, "skills": all.iter().map(document).collect::<Vec<_>>()}),
        )?;
    } else if all.is_empty() && !clears_only {
        output.note("no skill here has WebAssembly");
    }
    Ok(all.iter().find_map(trouble).unwrap_or(Exit::Done))
}

/// What was compiled and could not be kept was compiled for nothing.
fn trouble(done: &Done) -> Option<Exit> {
    match &done.result {
        Ok(Preparation::Compiled {
            not_kept: Some(_), ..
        }) => Some(Exit::Failed),
        Ok(_) => None,
        Err(error) => Some(failure::exit(error)),
    }
}

fn compile(
    runtime: &SkillRuntime,
    arguments: &Precompile,
    output: &Output,
) -> anyhow::Result<Vec<Done>> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut all = Vec::new();
    for name in names(runtime, arguments) {
        let result = match executor.block_on(runtime.precompile_skill(&name)) {
            // Of skills that nobody named only those with WebAssembly are told.
            Err(_) | Ok(Preparation::Nothing)
                if arguments.skills.is_empty() && !has_module(runtime, &name) =>
            {
                continue;
            }
            Err(error) if arguments.skills.len() == 1 => return Err(error.into()),
            result => result.map_err(Into::into),
        };
        let done = Done {
            skill: name,
            result,
        };
        if !output.is_json() {
            tell(&done, output)?;
        }
        all.push(done);
    }
    Ok(all)
}

fn document(done: &Done) -> Value {
    match &done.result {
        Ok(preparation) => json!({"skill": done.skill, "preparation": preparation}),
        Err(error) => json!({"skill": done.skill, "error": failure::document(error)}),
    }
}

fn names(runtime: &SkillRuntime, arguments: &Precompile) -> Vec<String> {
    if arguments.skills.is_empty() {
        // By directory, since names may be there twice.
        return runtime
            .catalog()
            .entries()
            .iter()
            .map(|entry| entry.directory().to_string_lossy().into_owned())
            .collect();
    }
    arguments
        .skills
        .iter()
        .map(|name| input::skill_name(name))
        .collect()
}

fn has_module(runtime: &SkillRuntime, name: &str) -> bool {
    let skill = runtime.get_skill(name);
    skill.is_ok_and(|skill| {
        skill
            .resources
            .resources
            .iter()
            .any(|file| file.path.ends_with(".wasm"))
    })
}

fn tell(done: &Done, output: &Output) -> anyhow::Result<()> {
    match &done.result {
        Ok(Preparation::Compiled {
            milliseconds,
            not_kept: None,
        }) => output.text(&format!("{}: compiled in {milliseconds} ms\n", done.skill)),
        Ok(Preparation::Compiled {
            milliseconds,
            not_kept: Some(reason),
        }) => {
            output.note(&format!(
                "error: {}: compiled in {milliseconds} ms, and not kept: {reason}",
                done.skill
            ));
            Ok(())
        }
        Ok(Preparation::Cached) => output.text(&format!("{}: was compiled before\n", done.skill)),
        Ok(_) => output.text(&format!("{}: nothing to compile\n", done.skill)),
        Err(error) => {
            failure::tell(error, output);
            Ok(())
        }
    }
}
