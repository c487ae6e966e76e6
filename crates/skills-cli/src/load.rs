//! `skills load NAME`: prints a skill as it is injected.

use serde_json::json;
use skills_runtime::prompt::Injection;
use skills_runtime::{InjectionFormat, SkillRuntime};

use crate::arguments::Load;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::Output;

/// Prints the injection of a skill.
pub(crate) fn load(
    runtime: &SkillRuntime,
    arguments: &Load,
    output: &Output,
) -> anyhow::Result<Exit> {
    let form = if arguments.fenced {
        InjectionFormat::Fenced
    } else {
        InjectionFormat::Codex
    };
    let name = input::resolve_skill_name(&arguments.name);
    let injected = runtime
        .prompt()
        .inject(&name, form, arguments.max_bytes)
        .map_err(|error| lookup::explain_error(runtime, &name, error))?;
    let Injection {
        text,
        role,
        removed: hidden,
        omitted: left_out,
        ..
    } = &injected;
    if output.is_json() {
        let left_out = left_out.as_ref().map(
            |part| json!({"first_line": part.first_line, "last_line": part.last_line, "bytes": part.bytes, "headings": part.headings}),
        );
        let hidden = hidden.map(|c| format!("U+{:04X}", u32::from(c)));
        output.print_json(
            &json!({"role": role.as_str(), "text": text, "omitted": left_out, "hidden": hidden}),
        )?;
        return Ok(Exit::Success);
    }
    output.text(&format!("{}\n", text.trim_end_matches('\n')))?;
    if let Some(part) = left_out {
        output.status(&format!(
            "lines {} to {} omitted; raise `--max-bytes` to include them",
            part.first_line, part.last_line
        ));
    }
    if let Some(c) = hidden {
        output.status(&format!(
            "invisible characters removed, the first is U+{:04X}",
            u32::from(*c)
        ));
    }
    Ok(Exit::Success)
}
