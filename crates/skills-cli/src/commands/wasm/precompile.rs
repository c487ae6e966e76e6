//! `skills wasm precompile`: compiles modules into the code cache.

use serde_json::{Value, json};
use skills_runtime::{Preparation, SkillRuntime};

use super::Precompile;
use crate::async_runtime;
use crate::context::Context;
use crate::counted::counted;
use crate::error;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::Output;
use crate::wasm_compiler;

/// The result for one skill.
struct PrecompileResult {
    skill: String,
    result: anyhow::Result<Preparation>,
}

impl Precompile {
    /// Compiles the WebAssembly of the given skills, or of all, into the code cache.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        // Unlike for a run, a missing cache is an error: nothing could be kept.
        let cache = wasm_compiler::open_cache(&context.environment)?;
        let cleared = self.clear.then(|| cache.clear()).transpose()?;
        if let Some(cleared) = &cleared {
            let modules = counted(cleared.modules(), "compiled module");
            let bytes = counted(cleared.bytes(), "byte");
            output.status(&format!("deleted {modules}, {bytes}"));
        }
        let clears_only = self.clear && self.skills.is_empty();
        let all = if clears_only {
            Vec::new()
        } else {
            self.compile_all(&runtime, output)?
        };
        if output.is_json() {
            let deleted =
                cleared.map(|usage| json!({"modules": usage.modules(), "bytes": usage.bytes()}));
            let skills: Vec<Value> = all.iter().map(to_json).collect();
            output.print_json(&json!({"deleted": deleted, "skills": skills}))?;
        } else if all.is_empty() && !clears_only {
            output.status("no skill has WebAssembly");
        }
        Ok(all.iter().find_map(failure_exit).unwrap_or(Exit::Success))
    }

    fn compile_all(
        &self,
        runtime: &SkillRuntime,
        output: Output,
    ) -> anyhow::Result<Vec<PrecompileResult>> {
        let executor = async_runtime::build_current_thread()?;
        let mut all = Vec::new();
        for skill in self.skill_names(runtime) {
            let explain = |error| lookup::explain_error(runtime, &skill, error);
            let result = match executor.block_on(runtime.executor().precompile(&skill)) {
                // Without arguments, only skills with WebAssembly are reported.
                Err(_) | Ok(Preparation::NotNeeded)
                    if self.skills.is_empty() && !has_module(runtime, &skill) =>
                {
                    continue;
                }
                // With a single skill the error is that of the command, with its own exit code.
                Err(error) if self.skills.len() == 1 => return Err(explain(error)),
                result => result.map_err(explain),
            };
            let done = PrecompileResult { skill, result };
            if !output.is_json() {
                print_result(&done, output)?;
            }
            all.push(done);
        }
        Ok(all)
    }

    fn skill_names(&self, runtime: &SkillRuntime) -> Vec<String> {
        if self.skills.is_empty() {
            // By directory, since names can be duplicate.
            let directory =
                |entry: &skills_runtime::Entry| entry.directory().to_string_lossy().into_owned();
            return runtime
                .library()
                .catalog()
                .entries()
                .iter()
                .map(directory)
                .collect();
        }
        self.skills
            .iter()
            .map(|name| input::resolve_skill_name(name))
            .collect()
    }
}

/// Returns the exit code of a failure. A module that cannot be cached is a failure.
fn failure_exit(done: &PrecompileResult) -> Option<Exit> {
    match &done.result {
        Ok(Preparation::Compiled {
            cache_error: Some(_),
            ..
        }) => Some(Exit::Failed),
        Ok(_) => None,
        Err(error) => Some(error::exit_status(error)),
    }
}

fn to_json(done: &PrecompileResult) -> Value {
    match &done.result {
        Ok(preparation) => json!({"skill": done.skill, "preparation": preparation}),
        Err(error) => json!({"skill": done.skill, "error": error::to_json(error)}),
    }
}

fn has_module(runtime: &SkillRuntime, name: &str) -> bool {
    runtime.get_skill(name).is_ok_and(|skill| {
        let mut files = skill.resources.resources.iter();
        files.any(|file| file.path.ends_with(".wasm"))
    })
}

fn print_result(done: &PrecompileResult, output: Output) -> anyhow::Result<()> {
    let skill = &done.skill;
    match &done.result {
        Ok(Preparation::Compiled {
            duration_ms,
            cache_error: None,
        }) => {
            output.text(&format!("{skill}: compiled in {duration_ms} ms\n"))?;
        }
        Ok(Preparation::Compiled {
            duration_ms,
            cache_error: Some(reason),
        }) => output.status(&format!(
            "error: {skill}: compiled in {duration_ms} ms, but cannot cache the module: {reason}"
        )),
        Ok(Preparation::Cached) => output.text(&format!("{skill}: already compiled\n"))?,
        Ok(_) => output.text(&format!("{skill}: nothing to compile\n"))?,
        Err(error) => error::print_error(error, output),
    }
    Ok(())
}
