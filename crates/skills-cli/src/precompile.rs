//! `skills precompile`: compiles WebAssembly ahead of time.

use serde_json::{Value, json};
use skills_runtime::{Preparation, SkillRuntime};

use crate::arguments::Precompile;
use crate::directories;
use crate::error_report;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::Output;

/// The result for one skill.
struct PrecompileResult {
    skill: String,
    result: Result<Preparation, anyhow::Error>,
}

/// Compiles the WebAssembly of the given skills, or of all, into the code cache.
pub(crate) fn precompile(
    runtime: &SkillRuntime,
    arguments: &Precompile,
    output: &Output,
) -> anyhow::Result<Exit> {
    // Unlike for a run, a missing cache is an error: nothing could be kept.
    let cache = directories::open_code_cache()?;
    let cleared = arguments.clear.then(|| cache.clear()).transpose()?;
    if let Some(cleared) = &cleared {
        output.status(&format!(
            "deleted {} compiled modules, {} bytes",
            cleared.modules(),
            cleared.bytes()
        ));
    }
    let clears_only = arguments.clear && arguments.skills.is_empty();
    let all = if clears_only {
        Vec::new()
    } else {
        compile_all(runtime, arguments, output)?
    };
    if output.is_json() {
        let deleted =
            cleared.map(|usage| json!({"modules": usage.modules(), "bytes": usage.bytes()}));
        output.print_json(
            &json!({"deleted": deleted, "skills": all.iter().map(to_json).collect::<Vec<_>>()}),
        )?;
    } else if all.is_empty() && !clears_only {
        output.status("no skill has WebAssembly");
    }
    Ok(all.iter().find_map(failure_exit).unwrap_or(Exit::Success))
}

/// Returns the exit code of a failure. A module that cannot be cached is a failure.
fn failure_exit(done: &PrecompileResult) -> Option<Exit> {
    match &done.result {
        Ok(Preparation::Compiled {
            cache_error: Some(_),
            ..
        }) => Some(Exit::Failed),
        Ok(_) => None,
        Err(error) => Some(error_report::exit_status(error)),
    }
}

fn compile_all(
    runtime: &SkillRuntime,
    arguments: &Precompile,
    output: &Output,
) -> anyhow::Result<Vec<PrecompileResult>> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut all = Vec::new();
    for name in skill_names(runtime, arguments) {
        let explain = |error| lookup::explain_error(runtime, &name, error);
        let result = match executor.block_on(runtime.executor().precompile(&name)) {
            // Without arguments, only skills with WebAssembly are reported.
            Err(_) | Ok(Preparation::NotNeeded)
                if arguments.skills.is_empty() && !has_module(runtime, &name) =>
            {
                continue;
            }
            // With a single skill the error is that of the command, with its own exit code.
            Err(error) if arguments.skills.len() == 1 => return Err(explain(error)),
            result => result.map_err(explain),
        };
        let done = PrecompileResult {
            skill: name,
            result,
        };
        if !output.is_json() {
            print_result(&done, output)?;
        }
        all.push(done);
    }
    Ok(all)
}

fn to_json(done: &PrecompileResult) -> Value {
    match &done.result {
        Ok(preparation) => json!({"skill": done.skill, "preparation": preparation}),
        Err(error) => json!({"skill": done.skill, "error": error_report::to_json(error)}),
    }
}

fn skill_names(runtime: &SkillRuntime, arguments: &Precompile) -> Vec<String> {
    if arguments.skills.is_empty() {
        // By directory, since names can be duplicate.
        return runtime
            .library()
            .catalog()
            .entries()
            .iter()
            .map(|entry| entry.directory().to_string_lossy().into_owned())
            .collect();
    }
    arguments
        .skills
        .iter()
        .map(|name| input::resolve_skill_name(name))
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

fn print_result(done: &PrecompileResult, output: &Output) -> anyhow::Result<()> {
    match &done.result {
        Ok(Preparation::Compiled {
            duration_ms: milliseconds,
            cache_error: None,
        }) => output.text(&format!("{}: compiled in {milliseconds} ms\n", done.skill)),
        Ok(Preparation::Compiled {
            duration_ms: milliseconds,
            cache_error: Some(reason),
        }) => {
            output.status(&format!(
                "error: {}: compiled in {milliseconds} ms, but cannot cache the module: {reason}",
                done.skill
            ));
            Ok(())
        }
        Ok(Preparation::Cached) => output.text(&format!("{}: already compiled\n", done.skill)),
        Ok(_) => output.text(&format!("{}: nothing to compile\n", done.skill)),
        Err(error) => {
            error_report::print_error(error, output);
            Ok(())
        }
    }
}
