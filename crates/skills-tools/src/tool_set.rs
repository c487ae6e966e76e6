//! All tools of a host.

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

/// All tools of a host: what a model is told of them, and what they do.
///
/// Cheap to clone; clones share the conversations and what is written.
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
    /// Starts to put the tools for a runtime together.
    pub fn builder(runtime: SkillRuntime) -> ToolSetBuilder {
        ToolSetBuilder::new(runtime)
    }

    /// Says what a model is told of the tools: those that are always there, then those of scripts
    /// in the order of the catalogue.
    ///
    /// Skills are looked for anew, unless they are watched. The same skills give the same
    /// definitions, byte for byte. Blocks on the disk.
    ///
    /// # Errors
    /// When what administrators changed cannot be read.
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

    /// Writes the definitions for a host.
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

    /// Says what a host should know of the skills' scripts: tools that have another name than they
    /// would, scripts that are no tools, what of a skill's word on its scripts could not be used,
    /// variables that are missing.
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
                    .map(|warning| format!("{skill}: {file}: {warning}"))
                    .collect()
            };
            notes.extend(listed.load_tool().map_or_else(|note| vec![note], of_tool));
        }
        Ok(notes)
    }

    /// Returns what a skill allows by its `allowed-tools`, and with it the tools of its own
    /// scripts.
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

    /// Calls a tool. Arguments are checked against its schema before anything happens; null for
    /// none is taken as an empty object.
    ///
    /// Whatever goes wrong is an [`ToolOutput`] that says so, for the model to read. Must be called
    /// inside a Tokio runtime with time and I/O enabled. Dropping the future stops the program.
    ///
    /// # Errors
    /// [`UnknownTool`], when there is no such tool: that is the host's mistake, or a list that is
    /// not up to date.
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
            // When the look fails, so does that of the next call, with its reason.
            let _ = run_blocking(move || Ok(looks.refresh())).await;
        }
        Ok(outcome.unwrap_or_else(ToolOutput::from))
    }

    /// Ends a conversation: the private directory of its scripts goes, and what somebody answered
    /// for it is forgotten. Blocks on the disk.
    pub fn end_session(&self, session: &str) {
        self.inner.program_tools.sessions.remove(session);
        self.inner.runtime.clear_session_approvals(session);
    }

    /// Changes the tool of a script for good: turns it off or on, or tells a model something else
    /// of it. What `change` leaves out stays.
    ///
    /// # Errors
    /// When no script has a tool of that name, turned off or not, and when the change cannot be
    /// kept.
    pub fn set_override(&self, name: &str, change: ToolOverride) -> Result<(), OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner
            .overrides
            .merge(registered.script_id().clone(), change)
    }

    /// Takes back all that was changed about the tool of a script; says whether anything was.
    ///
    /// # Errors
    /// As [`change_script_tool`](Self::set_override).
    pub fn clear_override(&self, name: &str) -> Result<bool, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner.overrides.remove(registered.script_id())
    }

    /// Runs scripts from Rust under the same changes of administrators.
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

    /// The tools of this host that are always there.
    fn builtin_tools(&self) -> impl Iterator<Item = &'static BuiltinTool> {
        self.inner
            .groups
            .iter()
            .flat_map(|toolbox| builtin::builtin_tools(*toolbox))
    }

    /// Finds the tool, checks the arguments, and does what only takes the disk.
    fn prepare(&self, name: &str, arguments: Value) -> Result<PreparedCall, ToolError> {
        let Some(tool) = self.builtin_tools().find(|tool| tool.name == name) else {
            return self.prepare_script_tool(name, arguments);
        };
        let arguments = tool.validate(arguments)?;
        let (files, knowledge) = (&self.inner.files, &self.inner.catalog_tools);
        if matches!(tool.kind, BuiltinKind::Run | BuiltinKind::RunSkillScript) {
            // What runs is found in the catalogue of now, and is not looked for again while others
            // wait.
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
                "what administrators changed cannot be read, so nothing runs",
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
        let registered = listed.load_tool().map_err(|_| {
            ToolError::new(ToolErrorCode::Conflict, "the script is not there any more")
        })?;
        ArgumentValidator::new(&registered.tool.input_schema)?.validate(&arguments)?;
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        Ok(PreparedCall::ScriptTool(Box::new(registered), arguments))
    }
}

/// What is left to do of a call once the disk was looked at.
enum PreparedCall {
    Unknown { nearest: Option<String> },
    Done(Result<ToolOutput, ToolError>),
    Run(skills_run::RunArguments),
    Bash(skills_bash::BashArguments),
    RunSkillScript(run_skill_script::ScriptArguments),
    ScriptTool(Box<ScriptToolEntry>, serde_json::Map<String, Value>),
}

impl PreparedCall {
    /// Whether a program is to run.
    fn runs_program(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Bash(_) | Self::RunSkillScript(_) | Self::ScriptTool(..)
        )
    }
}

/// How much of a name that is none is said again, in characters; tools have at most 64.
const MAX_NAME_CHARS: usize = 100;

/// There is no tool of a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool is named {name:?}{}", nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")))]
pub struct UnknownTool {
    name: String,
    nearest: Option<String>,
}

fn parse_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolError::new(
            ToolErrorCode::InvalidArguments,
            format!("the arguments do not fit: {error}"),
        )
    })
}

/// Waits for the disk aside, so that nobody else waits.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(ToolError::new(
            ToolErrorCode::Internal,
            "the tool failed; nothing more is known",
        ))
    })
}

/// The name that was probably meant.
fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(score, _)| *score > 0.85);
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}
