//! All tools of a host.

mod builder;
mod guided;
mod published;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use skills_runtime::{Catalog, SkillRuntime};

use crate::definition::Definition;
use crate::file_tools::FileTools;
use crate::fixed::{self, FixedTool, Kind};
use crate::knowledge::Knowledge;
use crate::overrides::{Override, OverrideError, Overrides};
use crate::publication::Library;
use crate::registry::{Registered, Registry, ScriptFinder, Terms};
use crate::run::{Programs, bash, engine, script, skill};
use crate::schema::Checker;
use crate::script::ScriptTool;
use crate::{CallContext, Code, Flavour, Outcome, ScriptExecutor, ToolError};

pub use builder::{BuildError, Builder, MissingEnv, NewScripts, Toolbox};

/// All tools of a host: what a model is told of them, and what they do.
///
/// Cheap to clone; clones share the conversations and what is written.
#[derive(Clone)]
pub struct ToolSet {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) runtime: SkillRuntime,
    pub(crate) files: Arc<FileTools>,
    knowledge: Knowledge,
    library: Library,
    programs: Arc<Programs>,
    pub(crate) scripts: Arc<ScriptFinder>,
    overrides: Arc<Overrides>,
    terms: Terms,
    boxes: Vec<Toolbox>,
}

impl ToolSet {
    /// Starts to put the tools for a runtime together.
    pub fn builder(runtime: SkillRuntime) -> Builder {
        Builder::new(runtime)
    }

    /// Says what a model is told of the tools: those that are always there, then those of scripts
    /// in the order of the catalogue.
    ///
    /// Skills are looked for anew, unless they are watched. The same skills give the same
    /// definitions, byte for byte. Blocks on the disk.
    ///
    /// # Errors
    /// When what administrators changed cannot be read.
    pub fn definitions(&self) -> Result<Vec<Definition>, OverrideError> {
        let catalog = self.catalog();
        let mut definitions: Vec<Definition> = self
            .fixed()
            .map(|tool| tool.told(&self.shared.runtime, &catalog))
            .collect();
        if self.has(Toolbox::Scripts) {
            let registry = self.registry(&catalog)?;
            let tools = registry
                .scripts()
                .filter(|listed| listed.is_enabled)
                .filter_map(|listed| listed.tool().ok());
            definitions.extend(tools.map(|registered| script::definition(&registered)));
        }
        Ok(definitions)
    }

    /// Writes the definitions for a host.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn render(&self, flavour: Flavour) -> Result<Vec<Value>, OverrideError> {
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
    pub fn notes(&self) -> Result<Vec<String>, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let mut notes = registry.notes().to_vec();
        for listed in registry.scripts() {
            let of_tool = |registered: Registered| {
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
            notes.extend(listed.tool().map_or_else(|note| vec![note], of_tool));
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
            .chain(registry.of_skill(skill))
            .collect())
    }

    /// Calls a tool. Arguments are checked against its schema before anything happens; null for
    /// none is taken as an empty object.
    ///
    /// Whatever goes wrong is an [`Outcome`] that says so, for the model to read. Must be called
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
    ) -> Result<Outcome, UnknownTool> {
        let arguments = if arguments.is_null() {
            Value::Object(serde_json::Map::new())
        } else {
            arguments
        };
        let set = self.clone();
        let asked = name.to_owned();
        let plan = blocking(move || set.plan(&asked, arguments)).await;
        let runs = plan.as_ref().is_ok_and(Planned::runs);
        let outcome = match plan {
            Err(error) => Err(error),
            Ok(Planned::Unknown { nearest }) => {
                return Err(UnknownTool {
                    name: name.chars().take(MAX_NAME).collect(),
                    nearest,
                });
            }
            Ok(Planned::Done(outcome)) => outcome,
            Ok(Planned::Run(arguments)) => self.shared.programs.run(arguments, context).await,
            Ok(Planned::Bash(arguments)) => self.shared.programs.bash(arguments, context).await,
            Ok(Planned::Engine(arguments)) => {
                self.shared.programs.run_script(arguments, context).await
            }
            Ok(Planned::Script(registered, arguments)) => {
                self.shared
                    .programs
                    .script(&registered, &arguments, context)
                    .await
            }
        };
        if runs && self.shared.files.reaches_skills() {
            let looks = Arc::clone(&self.shared.files.looks);
            // When the look fails, so does that of the next call, with its reason.
            let _ = blocking(move || Ok(looks.anew())).await;
        }
        Ok(outcome.unwrap_or_else(Outcome::from))
    }

    /// Ends a conversation: the private directory of its scripts goes, and what somebody answered
    /// for it is forgotten. Blocks on the disk.
    pub fn end_session(&self, session: &str) {
        self.shared.programs.sessions.end(session);
        self.shared.runtime.forget_answers(session);
    }

    /// Changes the tool of a script for good: turns it off or on, or tells a model something else
    /// of it. What `change` leaves out stays.
    ///
    /// # Errors
    /// When no script has a tool of that name, turned off or not, and when the change cannot be
    /// kept.
    pub fn change_script_tool(&self, name: &str, change: Override) -> Result<(), OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry
            .find(name)
            .ok_or_else(|| OverrideError::unknown(name))?;
        self.shared
            .overrides
            .set(registered.identity().clone(), change)
    }

    /// Takes back all that was changed about the tool of a script; says whether anything was.
    ///
    /// # Errors
    /// As [`change_script_tool`](Self::change_script_tool).
    pub fn reset_script_tool(&self, name: &str) -> Result<bool, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry
            .find(name)
            .ok_or_else(|| OverrideError::unknown(name))?;
        self.shared.overrides.forget(registered.identity())
    }

    /// Runs scripts from Rust under the same changes of administrators.
    #[must_use]
    pub fn executor(&self) -> ScriptExecutor {
        ScriptExecutor::sharing(Arc::clone(&self.shared.programs))
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.shared.files.looks.catalog()
    }

    pub(crate) fn has(&self, toolbox: Toolbox) -> bool {
        self.shared.boxes.contains(&toolbox)
    }

    fn registry(&self, catalog: &Arc<Catalog>) -> Result<Registry, OverrideError> {
        Ok(Registry::new(
            self.shared.scripts.of(catalog),
            self.shared.overrides.all()?,
            self.shared.terms,
        ))
    }

    /// The tools of this host that are always there.
    fn fixed(&self) -> impl Iterator<Item = &'static FixedTool> {
        self.shared
            .boxes
            .iter()
            .flat_map(|toolbox| fixed::tools(*toolbox))
    }

    /// Finds the tool, checks the arguments, and does what only takes the disk.
    fn plan(&self, name: &str, arguments: Value) -> Result<Planned, ToolError> {
        let Some(tool) = self.fixed().find(|tool| tool.name == name) else {
            return self.plan_script(name, arguments);
        };
        let arguments = tool.checked(arguments)?;
        let (files, knowledge) = (&self.shared.files, &self.shared.knowledge);
        if matches!(tool.kind, Kind::Run | Kind::Engine) {
            // What runs is found in the catalogue of now, and is not looked for again while others
            // wait.
            self.catalog();
        }
        Ok(match tool.kind {
            Kind::Ls => Planned::Done(files.ls(&typed(arguments)?)),
            Kind::Read => Planned::Done(files.read(&typed(arguments)?)),
            Kind::Write => Planned::Done(files.write(&typed(arguments)?)),
            Kind::Create => Planned::Done(files.create(&typed(arguments)?)),
            Kind::Run => Planned::Run(typed(arguments)?),
            Kind::Bash => Planned::Bash(typed(arguments)?),
            Kind::Engine => Planned::Engine(typed(arguments)?),
            Kind::Search => Planned::Done(knowledge.search(&typed(arguments)?)),
            Kind::Load => Planned::Done(knowledge.load(&typed(arguments)?)),
            Kind::Resource => Planned::Done(files.resource(&typed(arguments)?)),
        })
    }

    fn plan_script(&self, name: &str, arguments: Value) -> Result<Planned, ToolError> {
        let unreadable = |_| {
            ToolError::new(
                Code::Internal,
                "what administrators changed cannot be read, so nothing runs",
            )
        };
        let registry = self
            .has(Toolbox::Scripts)
            .then(|| self.registry(&self.catalog()))
            .transpose()
            .map_err(unreadable)?;
        let found = registry
            .as_ref()
            .and_then(|registry| registry.find(name))
            .filter(|listed| listed.is_enabled);
        let Some(listed) = found else {
            let on = registry
                .iter()
                .flat_map(Registry::scripts)
                .filter(|listed| listed.is_enabled)
                .map(|listed| listed.name());
            return Ok(Planned::Unknown {
                nearest: nearest(name, self.fixed().map(|tool| tool.name).chain(on)),
            });
        };
        let registered = listed
            .tool()
            .map_err(|_| ToolError::new(Code::Conflict, "the script is not there any more"))?;
        Checker::new(&registered.tool.input_schema)?.check(&arguments)?;
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        Ok(Planned::Script(Box::new(registered), arguments))
    }
}

/// What is left to do of a call once the disk was looked at.
enum Planned {
    Unknown { nearest: Option<String> },
    Done(Result<Outcome, ToolError>),
    Run(skill::RunArguments),
    Bash(bash::BashArguments),
    Engine(engine::ScriptArguments),
    Script(Box<Registered>, serde_json::Map<String, Value>),
}

impl Planned {
    /// Whether a program is to run.
    fn runs(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Bash(_) | Self::Engine(_) | Self::Script(..)
        )
    }
}

/// How much of a name that is none is said again, in characters; tools have at most 64.
const MAX_NAME: usize = 100;

/// There is no tool of a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool is named {name:?}{}", nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")))]
pub struct UnknownTool {
    name: String,
    nearest: Option<String>,
}

fn typed<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolError::new(
            Code::InvalidArguments,
            format!("the arguments do not fit: {error}"),
        )
    })
}

/// Waits for the disk aside, so that nobody else waits.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(ToolError::new(
            Code::Internal,
            "the tool failed; nothing more is known",
        ))
    })
}

/// The name that was probably meant.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(score, _)| *score > 0.85);
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}
