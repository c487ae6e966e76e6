//! Finds the tool of a call and executes it.

use std::sync::Arc;

use serde_json::Value;
use skills_script::is_command_line;
use skills_threads::ThreadError;

use super::inner::Inner;
use crate::argument_validator::ArgumentValidator;
use crate::coercion::coerce;
use crate::nearest_name::nearest_name;
use crate::portable_schema::remove_client_arguments;
use crate::registry::{ScriptToolEntry, ScriptToolRegistry};
use crate::run::{HookedCall, script_tool};
use crate::tool::{Call, FileCall, Tool};
use crate::{CallContext, ToolError, ToolErrorCode, ToolGroup, ToolOutput, tools};

/// A call with its tool and its validated arguments.
pub(super) enum ResolvedCall {
    Unknown {
        nearest: Option<String>,
        group: Option<ToolGroup>,
    },
    Builtin(&'static Tool, Value),
    Script(Box<ScriptToolEntry>, serde_json::Map<String, Value>),
}

impl Inner {
    /// Finds the tool and validates the arguments. Returns the call and the names of the arguments
    /// that were ignored.
    pub(super) fn resolve(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<(ResolvedCall, Vec<String>), ToolError> {
        // Built-in tools first: a script tool can never take the name of one, since its name has a
        // prefix.
        let builtin = self.builtin_tools();
        let Some(builtin) = builtin.iter().find(|builtin| builtin.tool.name == name) else {
            return Ok((self.resolve_script_tool(name, arguments)?, Vec::new()));
        };
        let max_timeout = self.programs.options.max_chosen_time();
        let (arguments, ignored) = builtin.validate(arguments, max_timeout)?;
        if let Call::SkillProgram(_) = builtin.tool.call {
            // Refresh once, so that the program that runs is found in the current catalog without
            // another scan after waiting for an approval.
            self.catalog();
        }
        Ok((ResolvedCall::Builtin(&builtin.tool, arguments), ignored))
    }

    fn resolve_script_tool(
        &self,
        name: &str,
        mut arguments: Value,
    ) -> Result<ResolvedCall, ToolError> {
        let unreadable =
            |_| ToolErrorCode::Internal.error("cannot read the tool overrides; nothing ran");
        let registry = self
            .has_script_tools()
            .then(|| self.registry(&self.catalog()))
            .transpose()
            .map_err(unreadable)?;
        let found = registry
            .as_ref()
            .and_then(|registry| registry.find_by_name(name))
            .filter(|entry| entry.is_enabled);
        // A disabled tool is unknown, too: in both cases the list that the caller has is outdated.
        let Some(entry) = found else {
            let enabled_names = registry
                .iter()
                .flat_map(ScriptToolRegistry::scripts)
                .filter(|entry| entry.is_enabled)
                .map(|entry| entry.name());
            let builtin = self.builtin_tools().into_iter();
            let builtin = builtin.map(|builtin| builtin.tool.name);
            let nearest = nearest_name(name, builtin.chain(enabled_names));
            let group = tools::all().find(|tool| tool.name == name);
            let group = group.and_then(|tool| tool.groups.last()).copied();
            return Ok(ResolvedCall::Unknown { nearest, group });
        };
        let tool = entry
            .load_tool()
            .map_err(|_| ToolErrorCode::Conflict.error("the script was removed"))?;
        coerce(&mut arguments, &tool.tool.input_schema);
        remove_client_arguments(&mut arguments, &tool.tool.input_schema);
        let is_command_line = arguments
            .as_object()
            .is_some_and(|given| is_command_line(given, &tool.tool.arguments));
        // A command line needs none of the properties that the schema requires.
        if !is_command_line {
            ArgumentValidator::new(&tool.tool.input_schema)?.validate(&arguments)?;
        }
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        Ok(ResolvedCall::Script(Box::new(tool), arguments))
    }

    /// Executes a call between its hooks.
    pub(super) async fn perform_with_hooks(
        &self,
        call: ResolvedCall,
        hooked: Option<HookedCall>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        if let Some(hooked) = &hooked {
            Box::pin(hooked.run_before(&self.programs, context)).await?;
        }
        let output = Box::pin(self.perform(call, context)).await?;
        match hooked {
            Some(hooked) if !output.is_error => {
                Box::pin(hooked.run_after(&self.programs, output, context)).await
            }
            _ => Ok(output),
        }
    }

    /// Executes a call.
    async fn perform(
        &self,
        call: ResolvedCall,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let programs = &self.programs;
        let output = match call {
            ResolvedCall::Script(tool, arguments) => {
                Box::pin(script_tool::call(programs, &tool, &arguments, context)).await
            }
            ResolvedCall::Builtin(tool, arguments) => match tool.call {
                Call::Files(call) => return self.perform_on_files(call, arguments, context).await,
                Call::SkillProgram(call) | Call::Command(call) => {
                    call(programs, arguments, context).await
                }
            },
            ResolvedCall::Unknown { .. } => {
                return Err(ToolErrorCode::Internal.error("the tool does not exist"));
            }
        };
        // The program may have written to a mount that contains skills, which a watcher has not
        // reported yet.
        if programs.files.may_overlap_skills() {
            let files = Arc::clone(&programs.files);
            // If the task panics, the next call fails with the reason.
            let _ = run_blocking(move || {
                files.rescan_after_write();
                Ok(())
            })
            .await;
        }
        output
    }

    /// Executes a call of a tool that needs only file I/O.
    async fn perform_on_files(
        &self,
        call: fn(FileCall<'_>, Value) -> Result<ToolOutput, ToolError>,
        arguments: Value,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.programs.files);
        let session = context.session_id().map(str::to_owned);
        let max_text_bytes = context.text_limit();
        let outputs = Arc::clone(&self.kept_outputs);
        let loaded = context.session_id();
        let loaded = loaded.map(|session| self.active_skills.of_session(session));
        let loaded = loaded.unwrap_or_default();
        let output = run_blocking(move || {
            let context = FileCall {
                files: &files,
                session: session.as_deref(),
                loaded: &loaded,
                outputs: Some(&outputs),
                max_text_bytes,
            };
            call(context, arguments)
        })
        .await?;
        // Not in the task, which continues after its call was dropped: it would add to a session
        // that has ended.
        if let Some(name) = &output.loaded_skill {
            self.active_skills
                .activate(self.files(), context.session_id(), name);
        }
        Ok(output)
    }
}

/// Runs blocking I/O on the blocking pool.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    skills_threads::run_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(
                ToolErrorCode::Internal.error(if ThreadError::is_in(&error) {
                    error.to_string()
                } else {
                    "the tool failed unexpectedly".to_owned()
                }),
            )
        })
}
