//! `skills prompt load NAME`: prints a skill as it is injected.

use clap::Args;
use serde_json::json;
use skills_runtime::InjectionFormat;
use skills_runtime::discovery::Lookup;
use skills_runtime::ledger::{ActivatedBy, Activity};
use skills_runtime::prompt::Injection;

use crate::context::Context;
use crate::exit::Exit;
use crate::input;
use crate::lookup;

/// Print a skill as it is injected into a prompt
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Skill name or directory
    name: String,

    /// Print only the body, in tags that it cannot close
    ///
    /// The tags include the skill's directory and files.
    #[arg(long)]
    fenced: bool,

    /// Maximum bytes of text, truncated at a line end [default: 98304]
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<usize>,
}

impl Load {
    /// Prints the injection of a skill.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let format = if self.fenced {
            InjectionFormat::Fenced
        } else {
            InjectionFormat::Codex
        };
        let name = input::resolve_skill_name(&self.name);
        let injected = runtime
            .prompt()
            .inject(&name, format, self.max_bytes)
            .map_err(|error| lookup::explain_error(&runtime, &name, error.into()))?;
        if let Lookup::Found(entry) = runtime.library().catalog().find(&name) {
            let activated = Activity::Activated(ActivatedBy::User);
            runtime.library().usage().record([entry], activated, None);
        }
        let Injection {
            text,
            role,
            removed: hidden,
            omitted,
            ..
        } = &injected;
        if output.is_json() {
            let omitted = omitted.as_ref().map(
                |part| json!({"first_line": part.first_line, "last_line": part.last_line, "bytes": part.bytes, "headings": part.headings}),
            );
            let hidden = hidden.map(|c| format!("U+{:04X}", u32::from(c)));
            return output.json(
                &json!({"role": role.as_str(), "text": text, "omitted": omitted, "hidden": hidden}),
            );
        }
        output.text(&format!("{}\n", text.trim_end_matches('\n')))?;
        if let Some(part) = omitted {
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
}
