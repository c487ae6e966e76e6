//! `skills precompile`.

use serde_json::json;
use skills_runtime::{Preparation, SkillRuntime};

use crate::arguments::Precompile;
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::state;

/// What became of one skill.
struct Done {
    skill: String,
    result: Result<Preparation, String>,
}

/// Compiles the WebAssembly of the named skills, or of all, so that no run has to wait for it.
pub(crate) fn precompile(runtime: &SkillRuntime, arguments: &Precompile, output: &Output) -> anyhow::Result<Exit> {
    if arguments.clear
        && let Some(cache) = state::code_cache()
    {
        let cleared = cache.clear()?;
        output.note(&format!("deleted {} compiled modules, {} bytes", cleared.artifacts(), cleared.bytes()));
    }
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut exit = Exit::Done;
    let mut all = Vec::new();
    for name in names(runtime, arguments) {
        let result = match executor.block_on(runtime.precompile_skill(&name)) {
            // Of skills that nobody named only those with WebAssembly are told.
            Err(_) | Ok(Preparation::Nothing) if arguments.skills.is_empty() && !has_module(runtime, &name) => continue,
            Err(error) if arguments.skills.len() == 1 => return Err(error.into()),
            result => result.map_err(|error| error.to_string()),
        };
        if result.is_err() {
            exit = Exit::Failed;
        }
        let done = Done { skill: name, result };
        if !output.is_json() {
            tell(&done, output)?;
        }
        all.push(done);
    }
    if output.is_json() {
        let document = |done: &Done| match &done.result {
            Ok(preparation) => json!({"skill": done.skill, "preparation": preparation}),
            Err(error) => json!({"skill": done.skill, "error": error}),
        };
        output.document(&json!({"skills": all.iter().map(document).collect::<Vec<_>>()}))?;
    } else if all.is_empty() {
        output.note("no skill here has WebAssembly");
    }
    Ok(exit)
}

fn names(runtime: &SkillRuntime, arguments: &Precompile) -> Vec<String> {
    if arguments.skills.is_empty() {
        // By directory, since names may be there twice.
        return runtime.catalog().entries().iter().map(|entry| entry.directory().to_string_lossy().into_owned()).collect();
    }
    arguments.skills.iter().map(|name| input::skill_name(name)).collect()
}

fn has_module(runtime: &SkillRuntime, name: &str) -> bool {
    let skill = runtime.get_skill(name);
    skill.is_ok_and(|skill| skill.resources.resources.iter().any(|file| file.path.ends_with(".wasm")))
}

fn tell(done: &Done, output: &Output) -> anyhow::Result<()> {
    match &done.result {
        Ok(Preparation::Compiled { milliseconds }) => output.text(&format!("{}: compiled in {milliseconds} ms\n", done.skill)),
        Ok(Preparation::Cached) => output.text(&format!("{}: was compiled before\n", done.skill)),
        Ok(_) => output.text(&format!("{}: nothing to compile\n", done.skill)),
        Err(error) => {
            output.note(&format!("error: {}: {error}", done.skill));
            Ok(())
        }
    }
}
