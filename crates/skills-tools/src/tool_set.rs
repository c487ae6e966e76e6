//! The tools of a host application.

mod builder;
mod hooks;
mod prompts;
mod published_skills;
mod script_tools;
mod workspace;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use skills_runtime::discovery::CatalogSummary;
use skills_runtime::{Catalog, SkillRuntime};
use skills_script::is_command_line;
use skills_threads::ThreadError;

use crate::argument_validator::ArgumentValidator;
use crate::builtin::{self, BuiltinKind, BuiltinTool};
use crate::catalog_tools::CatalogTools;
use crate::file_tools::FileTools;
use crate::nearest_name::nearest_name;
use crate::overrides::{OverrideError, OverrideStore};
use crate::portable_schema::remove_client_arguments;
use crate::publication::Publisher;
use crate::registry::{ScriptScanner, ScriptToolEntry, ScriptToolRegistry};
use crate::run::{HookMode, HookedCall, ProgramTools, script_tool};
use crate::tool_definition::ToolDefinition;
use crate::{
    CallContext, DefaultScriptState, ToolError, ToolErrorCode, ToolFormat, ToolGroup, ToolOutput,
};

use hooks::ActiveSkills;

pub use builder::{ToolSetBuildError, ToolSetBuilder};

/// Lists and calls the tools of a host application.
///
/// Definitions are for a model, [`call`](Self::call) executes what the model requests; policy
/// decides about permissions in between. Paths in arguments and results are virtual, so a model
/// sees no path of the host, with two exceptions meant for the user: the interpreter that lacks a
/// package, and what the function of [`remedies`](ToolSetBuilder::remedies) returns. Cheap to clone;
/// clones share sessions, write quotas and caches.
///
/// ```
/// use serde_json::json;
/// use skills_tools::runtime::{Root, Scope, SkillRuntime};
/// use skills_tools::{CallContext, ToolSet};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
/// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
/// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
/// let root = Root::new(directory.path(), Scope::Custom);
/// let runtime = SkillRuntime::builder().root(root).build();
/// let tools = ToolSet::builder(runtime).build()?;
/// let context = CallContext::default();
/// let output = tools.call("load_skill", json!({"name": "greet"}), &context).await?;
/// assert!(output.text().contains("Say hello."));
/// assert_eq!(output.structured["path"], "/skills/greet");
/// // A mistake of the model is a result that it can correct.
/// let output = tools.call("load_skill", json!({"name": "great"}), &context).await?;
/// assert_eq!(output.code(), Some("skill_not_found"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ToolSet {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) runtime: SkillRuntime,
    pub(crate) files: Arc<FileTools>,
    catalog_tools: CatalogTools,
    publisher: Publisher,
    program_tools: Arc<ProgramTools>,
    pub(crate) script_scanner: Arc<ScriptScanner>,
    overrides: Arc<OverrideStore>,
    default_script_state: DefaultScriptState,
    groups: Vec<ToolGroup>,
    hooks: HookMode,
    active_skills: Arc<ActiveSkills>,
}

impl ToolSet {
    /// Returns a builder for the tools of a runtime, with the defaults of [`ToolSetBuilder`].
    pub fn builder(runtime: SkillRuntime) -> ToolSetBuilder {
        ToolSetBuilder::new(runtime)
    }

    /// Returns how many skills the last scan has read, rejected and not searched for, and why, as
    /// `skills_ls` shows it. Scans the roots on first use. Performs blocking I/O.
    #[must_use]
    pub fn catalog_summary(&self) -> CatalogSummary {
        self.inner.runtime.library().catalog().summary()
    }

    /// Returns the definitions of all enabled tools: built-in tools, then script tools in the order
    /// of the catalog.
    ///
    /// The catalog is refreshed unless a watcher is active. Equal skills give equal definitions,
    /// byte for byte. Scripts that cannot be read are omitted; [`warnings`](Self::warnings) reports
    /// them. Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::runtime::{Root, Scope, SkillRuntime};
    /// use skills_tools::{ToolGroup, ToolSet};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
    /// let root = Root::new(directory.path(), Scope::Custom);
    /// let runtime = SkillRuntime::builder().root(root).build();
    /// let tools = ToolSet::builder(runtime).tool_groups([ToolGroup::ScriptTools]).build()?;
    /// let definitions = tools.definitions()?;
    /// assert_eq!(definitions[0].name, "skill__greet__hello");
    /// assert!(definitions[0].description.starts_with("Execute hello from greet."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the tool overrides cannot be read.
    pub fn definitions(&self) -> Result<Vec<ToolDefinition>, OverrideError> {
        let catalog = self.catalog();
        let mut definitions: Vec<ToolDefinition> = self
            .builtin_tools()
            .into_iter()
            .map(|tool| tool.definition_with_names(&self.inner.runtime, &catalog))
            .collect();
        if self.has_group(ToolGroup::ScriptTools) {
            let registry = self.registry(&catalog)?;
            definitions.extend(
                registry
                    .enabled_tools()
                    .map(|tool| script_tool::definition(&tool)),
            );
        }
        Ok(definitions)
    }

    /// Returns the definitions that a session has in addition to [`definitions`](Self::definitions):
    /// those of [`ToolGroup::LoadedScripts`]. They change when the session loads a skill. Performs
    /// blocking I/O.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn session_definitions(&self, session: &str) -> Result<Vec<ToolDefinition>, OverrideError> {
        let is_selected =
            self.has_group(ToolGroup::LoadedScripts) && !self.has_group(ToolGroup::ScriptTools);
        let skills = self.inner.active_skills.of_session(session);
        if !is_selected || skills.is_empty() {
            return Ok(Vec::new());
        }
        let tools = self.registry(&self.catalog())?.tools_of_skills(&skills);
        Ok(tools.iter().map(script_tool::definition).collect())
    }

    /// Renders the definitions in the format of a model API, in the order of
    /// [`definitions`](Self::definitions). Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::runtime::SkillRuntime;
    /// use skills_tools::{ToolFormat, ToolGroup, ToolSet};
    ///
    /// let runtime = SkillRuntime::builder().build();
    /// let tools = ToolSet::builder(runtime).tool_groups([ToolGroup::Catalog]).build()?;
    /// let rendered = tools.render(ToolFormat::OpenAi)?;
    /// assert_eq!(rendered[0]["function"]["name"], "search_skills");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn render(&self, format: ToolFormat) -> Result<Vec<Value>, OverrideError> {
        Ok(self
            .definitions()?
            .iter()
            .map(|definition| definition.render(format))
            .collect())
    }

    /// Calls a tool. Arguments are validated against its schema before anything else happens; null
    /// is accepted as an empty object.
    ///
    /// Failures are returned as a [`ToolOutput`] for the model. Must be called inside a Tokio
    /// runtime with time and I/O enabled. Not cancel safe in the sense of a retry: dropping the
    /// future stops the program, whose effects on files remain.
    ///
    /// # Errors
    /// [`UnknownTool`] if no enabled tool has the name, because the host application made a mistake
    /// or uses an outdated list.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: &CallContext,
    ) -> Result<ToolOutput, UnknownTool> {
        let arguments = if arguments.is_null() {
            Value::Object(serde_json::Map::new())
        } else {
            arguments
        };
        let set = self.clone();
        let (tool_name, session) = (name.to_owned(), context.session_id().map(str::to_owned));
        // Lookup and validation block, so they run on the blocking pool.
        let resolved = run_blocking(move || {
            let (call, ignored) = set.resolve(&tool_name, arguments)?;
            let hooked = set.inner.hooked_call(&tool_name, &call, session.as_deref());
            Ok((call, hooked, ignored))
        });
        let (call, hooked, ignored) = match resolved.await {
            Err(error) => return Ok(error.into()),
            Ok((ResolvedCall::Unknown { nearest }, ..)) => {
                return Err(UnknownTool {
                    // The name is client input of any length.
                    name: name.chars().take(MAX_NAME_CHARS).collect(),
                    nearest,
                });
            }
            Ok(resolved) => resolved,
        };
        // On the heap: the futures of programs and hooks are large.
        let output = Box::pin(self.perform_with_hooks(call, hooked, context)).await;
        Ok(output
            .unwrap_or_else(ToolOutput::from)
            .with_ignored_arguments(&ignored))
    }

    /// Executes a call between its hooks.
    async fn perform_with_hooks(
        &self,
        call: ResolvedCall,
        hooked: Option<HookedCall>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let programs = &self.inner.program_tools;
        if let Some(hooked) = &hooked {
            Box::pin(programs.run_hooks_before(hooked, context)).await?;
        }
        let output = Box::pin(self.perform(call, context)).await?;
        match hooked {
            Some(hooked) if !output.is_error => {
                Box::pin(programs.run_hooks_after(&hooked, output, context)).await
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
        let programs = &self.inner.program_tools;
        let output = match call {
            ResolvedCall::Script(tool, arguments) => {
                Box::pin(programs.run_script_tool(&tool, &arguments, context)).await
            }
            ResolvedCall::Builtin(BuiltinKind::Run, arguments) => {
                Box::pin(programs.run(parse_arguments(arguments)?, context)).await
            }
            ResolvedCall::Builtin(BuiltinKind::Bash, arguments) => {
                Box::pin(programs.bash(parse_arguments(arguments)?, context)).await
            }
            ResolvedCall::Builtin(BuiltinKind::RunSkillScript, arguments) => {
                let arguments = parse_arguments(arguments)?;
                Box::pin(programs.run_skill_script(arguments, context)).await
            }
            ResolvedCall::Builtin(kind, arguments) => {
                let set = self.clone();
                let session = context.session_id().map(str::to_owned);
                // The file tools block.
                let output = run_blocking(move || {
                    set.inner
                        .call_file_tool(kind, arguments, session.as_deref())
                })
                .await?;
                // Not in the task, which goes on after its call was dropped: it would add to a session
                // that has ended.
                if let Some(name) = &output.loaded_skill {
                    self.inner.activate(context.session_id(), name);
                }
                return Ok(output);
            }
            ResolvedCall::Unknown { .. } => {
                return Err(ToolErrorCode::Internal.error("the tool does not exist"));
            }
        };
        // The program may have written to a mount that contains skills, which a watcher has not
        // reported yet.
        if self.inner.files.may_overlap_skills() {
            let files = Arc::clone(&self.inner.files);
            // If the task panics, the next call fails with the reason.
            let _ = run_blocking(move || {
                files.rescan_after_write();
                Ok(())
            })
            .await;
        }
        output
    }

    /// Ends a session: removes the private directory of its scripts and the approvals for the
    /// session.
    ///
    /// A directory that a program is still using is removed when that program ends. A later call
    /// with the same session starts a new one. Performs blocking I/O.
    pub fn end_session(&self, session: &str) {
        self.inner.program_tools.sessions.remove(session);
        self.inner.active_skills.remove(session);
        self.inner
            .runtime
            .executor()
            .clear_session_approvals(session);
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.inner.runtime.library().current_catalog()
    }

    pub(crate) fn has_group(&self, group: ToolGroup) -> bool {
        self.inner.groups.contains(&group)
    }

    /// Returns whether the tools of scripts can be called. Whether they are listed depends on the
    /// group.
    pub(crate) fn has_script_tools(&self) -> bool {
        self.has_group(ToolGroup::ScriptTools) || self.has_group(ToolGroup::LoadedScripts)
    }

    fn registry(&self, catalog: &Arc<Catalog>) -> Result<ScriptToolRegistry, OverrideError> {
        Ok(ScriptToolRegistry::new(
            self.inner.script_scanner.index(catalog),
            self.inner.overrides.snapshot()?,
            self.inner.default_script_state,
        ))
    }

    /// Returns the enabled built-in tools.
    fn builtin_tools(&self) -> Vec<&'static BuiltinTool> {
        builtin::builtin_tools(&self.inner.groups)
    }

    /// Finds the tool and validates the arguments. Returns the call and the names of the arguments
    /// that were ignored.
    fn resolve(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<(ResolvedCall, Vec<String>), ToolError> {
        // Built-in tools first: a script tool can never take the name of one, since its name has a
        // prefix.
        let builtin = self.builtin_tools();
        let Some(tool) = builtin.iter().find(|tool| tool.name == name) else {
            return self.resolve_script_tool(name, arguments);
        };
        let (arguments, ignored) = tool.validate(arguments)?;
        if matches!(tool.kind, BuiltinKind::Run | BuiltinKind::RunSkillScript) {
            // Refresh once, so that the program that runs is found in the current catalog without
            // another scan after waiting for an approval.
            self.catalog();
        }
        Ok((ResolvedCall::Builtin(tool.kind, arguments), ignored))
    }

    fn resolve_script_tool(
        &self,
        name: &str,
        mut arguments: Value,
    ) -> Result<(ResolvedCall, Vec<String>), ToolError> {
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
            let builtin = self.builtin_tools().into_iter().map(|tool| tool.name);
            let nearest = nearest_name(name, builtin.chain(enabled_names));
            return Ok((ResolvedCall::Unknown { nearest }, Vec::new()));
        };
        let tool = entry
            .load_tool()
            .map_err(|_| ToolErrorCode::Conflict.error("the script was removed"))?;
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
        Ok((ResolvedCall::Script(Box::new(tool), arguments), Vec::new()))
    }
}

impl Inner {
    /// Executes a call of a tool that needs only file I/O.
    fn call_file_tool(
        &self,
        kind: BuiltinKind,
        arguments: Value,
        session: Option<&str>,
    ) -> Result<ToolOutput, ToolError> {
        let (files, catalog_tools) = (&self.files, &self.catalog_tools);
        match kind {
            BuiltinKind::Ls => files.ls(&parse_arguments(arguments)?, session),
            BuiltinKind::Read => files.read(&parse_arguments(arguments)?, session),
            BuiltinKind::Write => files.write(&parse_arguments(arguments)?),
            BuiltinKind::Create => files.create(&parse_arguments(arguments)?),
            BuiltinKind::SearchSkills => {
                catalog_tools.search(&parse_arguments(arguments)?, session)
            }
            BuiltinKind::LoadSkill => catalog_tools.load(&parse_arguments(arguments)?, session),
            BuiltinKind::SearchReferences => {
                catalog_tools.search_references(&parse_arguments(arguments)?, session)
            }
            BuiltinKind::ReadSkillResource => {
                files.read_skill_resource(&parse_arguments(arguments)?, session)
            }
            BuiltinKind::Run | BuiltinKind::Bash | BuiltinKind::RunSkillScript => {
                Err(ToolErrorCode::Internal.error("the tool runs a program"))
            }
        }
    }
}

/// A call with its tool and its validated arguments.
enum ResolvedCall {
    Unknown { nearest: Option<String> },
    Builtin(BuiltinKind, Value),
    Script(Box<ScriptToolEntry>, serde_json::Map<String, Value>),
}

/// Maximum length of an unknown name in an error, in characters; tool names have at most 64.
const MAX_NAME_CHARS: usize = 100;

/// Error of a call to a tool that does not exist.
///
/// The name is unknown, or the tool is disabled. The message suggests the most similar name of an
/// enabled tool, if there is one. Unlike a [`ToolError`], this is an error of the protocol or host
/// application and not a result for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{}` not found{}", name.escape_debug(), nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")))]
pub struct UnknownTool {
    name: String,
    nearest: Option<String>,
}

fn parse_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolErrorCode::InvalidArguments.error(format!("invalid arguments: {error}"))
    })
}

/// Runs blocking I/O on the blocking pool.
async fn run_blocking<T: Send + 'static>(
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
