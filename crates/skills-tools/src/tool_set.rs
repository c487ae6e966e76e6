//! All tools of a host.

mod builder;
mod guided;
mod published;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use skills_runtime::{Catalog, SkillRuntime};

use crate::definition::Definition;
use crate::file_tools::{FileTools, create, ls, read, write};
use crate::knowledge::{Knowledge, load, resource, search};
use crate::overrides::{Override, OverrideError, Overrides};
use crate::publication::Library;
use crate::registry::{Registered, Registry, Terms};
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
    shared: Arc<Shared>,
}

struct Shared {
    runtime: SkillRuntime,
    files: Arc<FileTools>,
    knowledge: Knowledge,
    library: Library,
    programs: Arc<Programs>,
    overrides: Arc<Overrides>,
    terms: Terms,
    boxes: Vec<Toolbox>,
}

impl ToolSet {
    /// Starts to put the tools for a runtime together.
    pub fn builder(runtime: SkillRuntime) -> Builder {
        Builder::new(runtime)
    }

    /// Says what a model is told of the tools: those that are always there, then those of scripts in the order of the catalogue.
    ///
    /// Skills are looked for anew. The same skills give the same definitions, byte for byte. Blocks on the disk.
    ///
    /// # Errors
    /// When what administrators changed cannot be read.
    pub fn definitions(&self) -> Result<Vec<Definition>, OverrideError> {
        let catalog = self.catalog();
        let mut definitions = self.fixed(&catalog);
        if self.has(Toolbox::Scripts) {
            let registry = self.registry(&catalog)?;
            let tools = registry.scripts.iter().filter(|listed| listed.is_enabled).filter_map(|listed| listed.tool().ok());
            definitions.extend(tools.map(|registered| script::definition(&registered)));
        }
        Ok(definitions)
    }

    /// Writes the definitions for a host.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn render(&self, flavour: Flavour) -> Result<Vec<Value>, OverrideError> {
        Ok(self.definitions()?.iter().map(|definition| definition.render(flavour)).collect())
    }

    /// Says what a host should know of the skills' scripts: tools that have another name than they would, scripts that are no tools, what of a skill's
    /// word on its scripts could not be used, variables that are missing.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn notes(&self) -> Result<Vec<String>, OverrideError> {
        let mut registry = self.registry(&self.catalog())?;
        for listed in &registry.scripts {
            let of_tool = |registered: Registered| {
                let ScriptTool { skill, file, warnings, .. } = registered.tool;
                warnings.into_iter().map(|warning| format!("{skill}: {file}: {warning}")).collect()
            };
            registry.notes.extend(listed.tool().map_or_else(|note| vec![note], of_tool));
        }
        Ok(registry.notes)
    }

    /// Returns what a skill allows by its `allowed-tools`, and with it the tools of its own scripts.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn allowed_tools(&self, skill: &str) -> Result<Vec<String>, OverrideError> {
        let catalog = self.catalog();
        let entry = catalog.entries().iter().find(|entry| entry.name().as_str() == skill);
        let written = entry.map(|entry| entry.manifest().allowed_tools()).unwrap_or_default();
        let registry = self.registry(&catalog)?;
        Ok(written.iter().map(ToString::to_string).chain(registry.of_skill(skill)).collect())
    }

    /// Calls a tool. Arguments are checked against its schema before anything happens; null for none is taken as an empty object.
    ///
    /// Whatever goes wrong is an [`Outcome`] that says so, for the model to read. Must be called inside a Tokio runtime with time and I/O enabled.
    /// Dropping the future stops the program.
    ///
    /// # Errors
    /// [`UnknownTool`], when there is no such tool: that is the host's mistake, or a list that is not up to date.
    pub async fn call(&self, name: &str, arguments: Value, context: &CallContext) -> Result<Outcome, UnknownTool> {
        let arguments = if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
        let set = self.clone();
        let asked = name.to_owned();
        let plan = blocking(move || set.plan(&asked, arguments)).await;
        let outcome = match plan {
            Err(error) => Err(error),
            Ok(Planned::Unknown { nearest }) => return Err(UnknownTool { name: name.to_owned(), nearest }),
            Ok(Planned::Done(outcome)) => outcome,
            Ok(Planned::Run(arguments)) => self.shared.programs.run(arguments, context).await,
            Ok(Planned::Bash(arguments)) => self.shared.programs.bash(arguments, context).await,
            Ok(Planned::Engine(arguments)) => self.shared.programs.run_script(arguments, context).await,
            Ok(Planned::Script(registered, arguments)) => self.shared.programs.script(&registered, &arguments, context).await,
        };
        Ok(outcome.unwrap_or_else(Outcome::from))
    }

    /// Ends a conversation: the private directory of its scripts goes.
    pub fn end_session(&self, session: &str) {
        self.shared.programs.sessions.end(session);
    }

    /// Changes the tool of a script for good: turns it off or on, or tells a model something else of it. What `change` leaves out stays.
    ///
    /// # Errors
    /// When no script has a tool of that name, turned off or not, and when the change cannot be kept.
    pub fn change_script_tool(&self, name: &str, change: Override) -> Result<(), OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry.find(name).ok_or_else(|| OverrideError::unknown(name))?;
        self.shared.overrides.set(registered.identity.clone(), change)
    }

    /// Takes back all that was changed about the tool of a script; says whether anything was.
    ///
    /// # Errors
    /// As [`change_script_tool`](Self::change_script_tool).
    pub fn reset_script_tool(&self, name: &str) -> Result<bool, OverrideError> {
        let registry = self.registry(&self.catalog())?;
        let registered = registry.find(name).ok_or_else(|| OverrideError::unknown(name))?;
        self.shared.overrides.forget(&registered.identity)
    }

    /// Runs scripts from Rust under the same changes of administrators.
    #[must_use]
    pub fn executor(&self) -> ScriptExecutor {
        ScriptExecutor::sharing(Arc::clone(&self.shared.programs))
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.shared.runtime.discover_skills();
        self.shared.runtime.catalog()
    }

    fn has(&self, toolbox: Toolbox) -> bool {
        self.shared.boxes.contains(&toolbox)
    }

    fn registry(&self, catalog: &Catalog) -> Result<Registry, OverrideError> {
        Ok(Registry::of(&self.shared.runtime, catalog, &self.shared.overrides.all()?, self.shared.terms))
    }

    /// The tools that are always there.
    fn fixed(&self, catalog: &Catalog) -> Vec<Definition> {
        let of_box = |toolbox: &Toolbox| match toolbox {
            Toolbox::Skills => {
                vec![
                    ls::definition(),
                    read::definition(),
                    write::definition(),
                    create::definition(),
                    skill::definition(),
                    bash::definition(),
                ]
            }
            Toolbox::Engine => vec![engine::definition()],
            Toolbox::Knowledge => vec![
                search::definition(),
                load::definition(&self.shared.runtime, catalog),
                resource::definition(&self.shared.runtime, catalog),
            ],
            Toolbox::Scripts => Vec::new(),
        };
        self.shared.boxes.iter().flat_map(of_box).collect()
    }

    /// Finds the tool, checks the arguments, and does what only takes the disk.
    fn plan(&self, name: &str, arguments: Value) -> Result<Planned, ToolError> {
        let catalog = self.catalog();
        let fixed = self.fixed(&catalog);
        let Some(definition) = fixed.iter().find(|definition| definition.name == name) else {
            return self.plan_script(name, arguments, &catalog, &fixed);
        };
        Checker::new(&checked_schema(definition))?.check(&arguments)?;
        let arguments = with_integers(arguments, &definition.input_schema);
        let (files, knowledge) = (&self.shared.files, &self.shared.knowledge);
        Ok(match name {
            "skills_ls" => Planned::Done(files.ls(&typed(arguments)?)),
            "skills_read" => Planned::Done(files.read(&typed(arguments)?)),
            "skills_write" => Planned::Done(files.write(&typed(arguments)?)),
            "skills_create" => Planned::Done(files.create(&typed(arguments)?)),
            "skills_run" => Planned::Run(typed(arguments)?),
            "skills_bash" => Planned::Bash(typed(arguments)?),
            "run_skill_script" => Planned::Engine(typed(arguments)?),
            "search_skills" => Planned::Done(knowledge.search(&typed(arguments)?)),
            "load_skill" => Planned::Done(knowledge.load(&typed(arguments)?)),
            "read_skill_resource" => Planned::Done(files.resource(&typed(arguments)?)),
            _ => Planned::Unknown { nearest: None },
        })
    }

    fn plan_script(&self, name: &str, arguments: Value, catalog: &Catalog, fixed: &[Definition]) -> Result<Planned, ToolError> {
        let unreadable = |_| ToolError::new(Code::Internal, "what administrators changed cannot be read, so nothing runs");
        let registry = if self.has(Toolbox::Scripts) { self.registry(catalog).map_err(unreadable)? } else { Registry::default() };
        let names = fixed.iter().map(|definition| definition.name.as_str());
        let on = registry.scripts.iter().filter(|listed| listed.is_enabled);
        let nearest = nearest(name, names.chain(on.map(|listed| listed.name.as_str())));
        let Some(listed) = registry.find(name).filter(|listed| listed.is_enabled) else {
            return Ok(Planned::Unknown { nearest });
        };
        let registered = listed.tool().map_err(|_| ToolError::new(Code::Conflict, "the script is not there any more"))?;
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

/// There is no tool of a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool is named {name:?}{}", nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")))]
pub struct UnknownTool {
    name: String,
    nearest: Option<String>,
}

/// What arguments are checked against. The names of skills are not: the tool itself knows which one was meant.
fn checked_schema(definition: &Definition) -> Value {
    let mut schema = definition.input_schema.clone();
    let takes_a_skill = ["load_skill", "read_skill_resource"].contains(&definition.name.as_str());
    if let (true, Some(name)) = (takes_a_skill, schema.pointer_mut("/properties/name").and_then(Value::as_object_mut)) {
        name.remove("enum");
    }
    schema
}

/// Writes `10.0` as `10` where the schema asks for an integer: for a schema it is one, for Rust it is not.
fn with_integers(mut arguments: Value, schema: &Value) -> Value {
    let is_integer = |name: &str| schema["properties"][name]["type"] == "integer";
    for (_, value) in arguments.as_object_mut().into_iter().flatten().filter(|(name, _)| is_integer(name)) {
        if let Some(integer) = value.as_f64().filter(|_| value.is_f64()).and_then(integer) {
            *value = integer.into();
        }
    }
    arguments
}

/// Up to 2^53 a float has all integers.
fn integer(number: f64) -> Option<i64> {
    let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    is_exact.then(|| format!("{number:.0}").parse().ok()).flatten()
}

fn typed<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::new(Code::InvalidArguments, format!("the arguments do not fit: {error}")))
}

/// Waits for the disk aside, so that nobody else waits.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(ToolError::new(Code::Internal, "the tool failed; nothing more is known")))
}

/// The name that was probably meant.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names.map(|known| (strsim::jaro_winkler(name, known), known)).filter(|(score, _)| *score > 0.85);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_are_integers_however_they_are_written() {
        let schema = json!({"properties": {"limit": {"type": "integer"}, "args": {"type": "object"}}});
        let cases = [
            (json!({"limit": 10.0}), json!({"limit": 10})),
            (json!({"limit": -0.0}), json!({"limit": 0})),
            (json!({"limit": 1.5}), json!({"limit": 1.5})),
            (json!({"limit": 1e300}), json!({"limit": 1e300})),
            (json!({"limit": u64::MAX}), json!({"limit": u64::MAX})),
            (json!({"args": {"limit": 10.0}, "other": 10.0}), json!({"args": {"limit": 10.0}, "other": 10.0})),
            (json!([10.0]), json!([10.0])),
        ];
        for (given, expected) in cases {
            assert_eq!(with_integers(given.clone(), &schema), expected, "{given}");
        }
    }
}
