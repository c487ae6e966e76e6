//! `skills prompt fork NAME`: prints the prompt of a sub-agent.

use clap::Args;

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::input;
use crate::lookup;

/// Print the prompt of a skill that runs in a sub-agent
///
/// For skills with `context: fork`. The sub-agent starts with this prompt instead of the
/// conversation. --json adds the agent, the model and the tools that the skill declares.
#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// Skill name or directory
    name: String,

    /// Task of the sub-agent, in the words of the user
    request: Option<String>,

    /// Maximum bytes of the skill's text, truncated at a line end [default: 98304]
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<usize>,
}

impl Fork {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let name = input::resolve_skill_name(&self.name);
        let request = self.request.as_deref().unwrap_or_default();
        let fork = runtime
            .prompt()
            .fork(&name, request, self.max_bytes)
            .map_err(|error| lookup::explain_error(&runtime, &name, error.into()))?;
        let Some(fork) = fork else {
            let message = format!("skill `{name}` has no `context: fork`");
            let help = "print its text with `skills prompt load`";
            return Err(CommandError::input(message).with_help(help).into());
        };
        if output.is_json() {
            return output.json(&fork);
        }
        output.text(&format!("{}\n", fork.prompt))?;
        for (what, value) in [("agent", &fork.agent), ("model", &fork.model)] {
            if let Some(value) = value {
                output.status(&format!("note: {what} `{value}`"));
            }
        }
        Ok(Exit::Success)
    }
}
