//! The tools of a host application.

mod builder;
mod prompts;
mod published_skills;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use skills_runtime::{Catalog, SkillRuntime};

use crate::builtin::{self, BuiltinKind, BuiltinTool};
use crate::catalog_tools::CatalogTools;
use crate::file_tools::FileTools;
use crate::overrides::{OverrideError, OverrideStore, ToolOverride};
use crate::publication::Publisher;
use crate::registry::{RegistryOptions, ScriptScanner, ScriptToolEntry, ScriptToolRegistry};
use crate::run::{ProgramTools, run_skill_script, script_tool, skills_bash, skills_run};
use crate::schema::ArgumentValidator;
use crate::script::ScriptTool;
use crate::tool_definition::ToolDefinition;
use crate::{CallContext, ScriptExecutor, ToolError, ToolErrorCode, ToolFormat, ToolOutput};

pub use builder::{DefaultScriptState, MissingEnv, ToolGroup, ToolSetBuildError, ToolSetBuilder};

/// Lists and calls the tools of a host application.
///
/// Definitions are for a model, [`call`](Self::call) executes what the model requests; policy
/// decides about permissions in between. Cheap to clone; clones share sessions and write quotas.
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
    registry_options: RegistryOptions,
    groups: Vec<ToolGroup>,
}

impl ToolSet {
    /// Returns a builder for the tools of a runtime.
    pub fn builder(runtime: SkillRuntime) -> ToolSetBuilder {
        ToolSetBuilder::new(runtime)
    }

    /// Returns the definitions of all enabled tools: built-in tools, then script tools in the order
    /// of the catalog.
    ///
    /// The catalog is refreshed unless a watcher is active. Equal skills give equal definitions,
    /// byte for byte. Performs blocking I/O.
    ///
    /// # Errors
    /// If the tool overrides cannot be read.
    pub fn definitions(&self) -> Result<Vec<ToolDefinition>, OverrideError> {
        let catalog = self.catalog();
        let mut definitions: Vec<ToolDefinition> = self
            .builtin_tools()
            .map(|tool| tool.definition_with_names(&self.inner.runtime, &catalog))
            .collect();
        if self.has_group(ToolGroup::ScriptTools) {
            let registry = self.registry(&catalog)?;
            let tools = registry
                .scripts()
                .filter(|listed| listed.is_enabled)
                .filter_map(|listed| listed.load_tool().ok());
            definitions.extend(tools.map(|registered| script_tool::definition(&registered)));
        }
        Ok(definitions)
    }

    /// Renders the definitions in a format.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn render(&self, flavour: ToolFormat) -> Result<Vec<Value>, OverrideError> {
        Ok(self
            .definitions()?
            .iter()
            .map(|definition| definition.render(flavour))
            .collect())
    }

    /// Returns warnings about the scripts of skills, for the host application: ambiguous tool
    /// names, scripts that are not tools, ignored declarations, missing environment variables.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn warnings(&self) -> Result<Vec<String>, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let mut notes = registry.warnings().to_vec();
        for listed in registry.scripts() {
            let of_tool = |registered: ScriptToolEntry| {
                let ScriptTool {
                    skill,
                    file,
                    warnings,
                    ..
                } = registered.tool;
                warnings
                    .into_iter()
                    .map(|warning| format!("skill `{skill}`: `{file}`: {warning}"))
                    .collect()
            };
            notes.extend(listed.load_tool().map_or_else(|note| vec![note], of_tool));
        }
        Ok(notes)
    }

    /// Returns the `allowed-tools` of a skill together with the tools of its own scripts.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn allowed_tools(&self, skill: &str) -> Result<Vec<String>, OverrideError> {
        let catalog = self.catalog();
        let entry = catalog
            .entries()
            .iter()
            .find(|entry| entry.name().as_str() == skill);
        let written = entry
            .map(|entry| entry.manifest().allowed_tools())
            .unwrap_or_default();
        let registry = self.registry(&catalog)?;
        Ok(written
            .iter()
            .map(ToString::to_string)
            .chain(registry.names_of_skill(skill))
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
        let asked = name.to_owned();
        let plan = run_blocking(move || set.prepare(&asked, arguments)).await;
        let runs = plan.as_ref().is_ok_and(PreparedCall::runs_program);
        let outcome = match plan {
            Err(error) => Err(error),
            Ok(PreparedCall::Unknown { nearest }) => {
                return Err(UnknownTool {
                    name: name.chars().take(MAX_NAME_CHARS).collect(),
                    nearest,
                });
            }
            Ok(PreparedCall::Done(outcome)) => outcome,
            Ok(PreparedCall::Run(arguments)) => {
                self.inner.program_tools.run(arguments, context).await
            }
            Ok(PreparedCall::Bash(arguments)) => {
                self.inner.program_tools.bash(arguments, context).await
            }
            Ok(PreparedCall::RunSkillScript(arguments)) => {
                self.inner
                    .program_tools
                    .run_skill_script(arguments, context)
                    .await
            }
            Ok(PreparedCall::ScriptTool(registered, arguments)) => {
                self.inner
                    .program_tools
                    .run_script_tool(&registered, &arguments, context)
                    .await
            }
        };
        if runs && self.inner.files.may_overlap_skills() {
            let looks = Arc::clone(&self.inner.files.catalog_cache);
            // If the task panics, the next call fails with the reason.
            let _ = run_blocking(move || Ok(looks.refresh())).await;
        }
        Ok(outcome.unwrap_or_else(ToolOutput::from))
    }

    /// Ends a session: removes the private directory of its scripts and the approvals for the
    /// session. Performs blocking I/O.
    pub fn end_session(&self, session: &str) {
        self.inner.program_tools.sessions.remove(session);
        self.inner.runtime.clear_session_approvals(session);
    }

    /// Sets overrides of a script tool permanently: enabled, description, timeout. Fields of
    /// `change` that are `None` stay.
    ///
    /// # Errors
    /// If no script has a tool of that name, enabled or not, and if the override cannot be stored.
    pub fn set_override(&self, name: &str, change: ToolOverride) -> Result<(), OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner
            .overrides
            .merge(registered.script_id().clone(), change)
    }

    /// Removes all overrides of a script tool, and returns whether there were any.
    ///
    /// # Errors
    /// As [`set_override`](Self::set_override).
    pub fn clear_override(&self, name: &str) -> Result<bool, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner.overrides.remove(registered.script_id())
    }

    /// Returns an executor for scripts that applies the same overrides.
    #[must_use]
    pub fn executor(&self) -> ScriptExecutor {
        ScriptExecutor::with_programs(Arc::clone(&self.inner.program_tools))
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.inner.files.catalog_cache.catalog()
    }

    pub(crate) fn has_group(&self, toolbox: ToolGroup) -> bool {
        self.inner.groups.contains(&toolbox)
    }

    fn registry(&self, catalog: &Arc<Catalog>) -> Result<ScriptToolRegistry, OverrideError> {
        Ok(ScriptToolRegistry::new(
            self.inner.script_scanner.index(catalog),
            self.inner.overrides.snapshot()?,
            self.inner.registry_options,
        ))
    }

    /// Returns the enabled built-in tools.
    fn builtin_tools(&self) -> impl Iterator<Item = &'static BuiltinTool> {
        self.inner
            .groups
            .iter()
            .flat_map(|toolbox| builtin::builtin_tools(*toolbox))
    }

    /// Finds the tool, validates the arguments, and does all work that needs only file I/O.
    fn prepare(&self, name: &str, arguments: Value) -> Result<PreparedCall, ToolError> {
        let Some(tool) = self.builtin_tools().find(|tool| tool.name == name) else {
            return self.prepare_script_tool(name, arguments);
        };
        let arguments = tool.validate(arguments)?;
        let (files, knowledge) = (&self.inner.files, &self.inner.catalog_tools);
        if matches!(tool.kind, BuiltinKind::Run | BuiltinKind::RunSkillScript) {
            // Refresh once, so that the program that runs is found in the current catalog without
            // another scan after waiting for an approval.
            self.catalog();
        }
        Ok(match tool.kind {
            BuiltinKind::Ls => PreparedCall::Done(files.ls(&parse_arguments(arguments)?)),
            BuiltinKind::Read => PreparedCall::Done(files.read(&parse_arguments(arguments)?)),
            BuiltinKind::Write => PreparedCall::Done(files.write(&parse_arguments(arguments)?)),
            BuiltinKind::Create => PreparedCall::Done(files.create(&parse_arguments(arguments)?)),
            BuiltinKind::Run => PreparedCall::Run(parse_arguments(arguments)?),
            BuiltinKind::Bash => PreparedCall::Bash(parse_arguments(arguments)?),
            BuiltinKind::RunSkillScript => {
                PreparedCall::RunSkillScript(parse_arguments(arguments)?)
            }
            BuiltinKind::SearchSkills => {
                PreparedCall::Done(knowledge.search(&parse_arguments(arguments)?))
            }
            BuiltinKind::LoadSkill => {
                PreparedCall::Done(knowledge.load(&parse_arguments(arguments)?))
            }
            BuiltinKind::ReadSkillResource => {
                PreparedCall::Done(files.read_skill_resource(&parse_arguments(arguments)?))
            }
        })
    }

    fn prepare_script_tool(&self, name: &str, arguments: Value) -> Result<PreparedCall, ToolError> {
        let unreadable = |_| {
            ToolError::new(
                ToolErrorCode::Internal,
                "cannot read the tool overrides; nothing ran",
            )
        };
        let registry = self
            .has_group(ToolGroup::ScriptTools)
            .then(|| self.registry(&self.catalog()))
            .transpose()
            .map_err(unreadable)?;
        let found = registry
            .as_ref()
            .and_then(|registry| registry.find_by_name(name))
            .filter(|listed| listed.is_enabled);
        let Some(listed) = found else {
            let on = registry
                .iter()
                .flat_map(ScriptToolRegistry::scripts)
                .filter(|listed| listed.is_enabled)
                .map(|listed| listed.name());
            return Ok(PreparedCall::Unknown {
                nearest: nearest_name(name, self.builtin_tools().map(|tool| tool.name).chain(on)),
            });
        };
        let registered = listed
            .load_tool()
            .map_err(|_| ToolError::new(ToolErrorCode::Conflict, "the script was removed"))?;
        ArgumentValidator::new(&registered.tool.input_schema)?.validate(&arguments)?;
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        Ok(PreparedCall::ScriptTool(Box::new(registered), arguments))
    }
}

/// The remaining work of a call after the file I/O.
enum PreparedCall {
    Unknown { nearest: Option<String> },
    Done(Result<ToolOutput, ToolError>),
    Run(skills_run::RunArguments),
    Bash(skills_bash::BashArguments),
    RunSkillScript(run_skill_script::ScriptArguments),
    ScriptTool(Box<ScriptToolEntry>, serde_json::Map<String, Value>),
}

impl PreparedCall {
    /// Returns whether a program will run.
    fn runs_program(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Bash(_) | Self::RunSkillScript(_) | Self::ScriptTool(..)
        )
    }
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
        ToolError::new(
            ToolErrorCode::InvalidArguments,
            format!("invalid arguments: {error}"),
        )
    })
}

/// Runs blocking I/O on the blocking pool.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(ToolError::new(
            ToolErrorCode::Internal,
            "the tool failed unexpectedly",
        ))
    })
}

/// Returns the most similar name, if it is similar enough.
fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(score, _)| *score > 0.85);
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}
