//! The tools that are always there.

use std::sync::OnceLock;

use serde_json::Value;
use skills_runtime::{Catalog, SkillRuntime};

use crate::definition::Definition;
use crate::file_tools::{create, ls, read, write};
use crate::knowledge::{load, name_of_a_skill, resource, search};
use crate::run::{bash, engine, skill};
use crate::schema::Checker;
use crate::{ToolError, Toolbox};

/// A tool that is always there: what a model is told of it and what checks its arguments are made
/// once, by the first who needs them.
pub(crate) struct FixedTool {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    make: fn() -> Definition,
    definition: OnceLock<Definition>,
    checker: OnceLock<Result<Checker, ToolError>>,
}

/// Which tool it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ls,
    Read,
    Write,
    Create,
    Run,
    Bash,
    Engine,
    Search,
    Load,
    Resource,
}

static SKILLS: [FixedTool; 6] = [
    FixedTool::new(Kind::Ls, "skills_ls", ls::definition),
    FixedTool::new(Kind::Read, "skills_read", read::definition),
    FixedTool::new(Kind::Write, "skills_write", write::definition),
    FixedTool::new(Kind::Create, "skills_create", create::definition),
    FixedTool::new(Kind::Run, "skills_run", skill::definition),
    FixedTool::new(Kind::Bash, "skills_bash", bash::definition),
];

static ENGINE: [FixedTool; 1] = [FixedTool::new(
    Kind::Engine,
    "run_skill_script",
    engine::definition,
)];

static KNOWLEDGE: [FixedTool; 3] = [
    FixedTool::new(Kind::Search, "search_skills", search::definition),
    FixedTool::new(Kind::Load, "load_skill", load::definition),
    FixedTool::new(Kind::Resource, "read_skill_resource", resource::definition),
];

/// The tools of a group, in their order.
pub(crate) fn tools(toolbox: Toolbox) -> &'static [FixedTool] {
    match toolbox {
        Toolbox::Skills => &SKILLS,
        Toolbox::Engine => &ENGINE,
        Toolbox::Knowledge => &KNOWLEDGE,
        Toolbox::Scripts => &[],
    }
}

impl FixedTool {
    const fn new(kind: Kind, name: &'static str, make: fn() -> Definition) -> Self {
        Self {
            kind,
            name,
            make,
            definition: OnceLock::new(),
            checker: OnceLock::new(),
        }
    }

    /// What a model is told of it, with the names of the skills that there are where it takes one.
    pub(crate) fn told(&self, runtime: &SkillRuntime, catalog: &Catalog) -> Definition {
        let mut definition = self.definition().clone();
        if matches!(self.kind, Kind::Load | Kind::Resource) {
            definition.input_schema["properties"]["name"] = name_of_a_skill(runtime, catalog);
        }
        definition
    }

    /// Checks arguments and returns them with integers as Rust reads them. The names of skills are
    /// not checked: the tool itself knows which one was meant.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub(crate) fn checked(&self, arguments: Value) -> Result<Value, ToolError> {
        let schema = &self.definition().input_schema;
        match self.checker.get_or_init(|| Checker::new(schema)) {
            Ok(checker) => checker.check(&arguments)?,
            Err(error) => return Err(error.clone()),
        }
        Ok(with_integers(arguments, schema))
    }

    /// What is told of it, without the names of skills.
    pub(crate) fn definition(&self) -> &Definition {
        self.definition.get_or_init(self.make)
    }
}

/// Writes `10.0` as `10` where the schema asks for an integer: for a schema it is one, for Rust it
/// is not.
fn with_integers(mut arguments: Value, schema: &Value) -> Value {
    let is_integer = |name: &str| schema["properties"][name]["type"] == "integer";
    for (_, value) in arguments
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_integer(name))
    {
        if let Some(integer) = value.as_f64().filter(|_| value.is_f64()).and_then(integer) {
            *value = integer.into();
        }
    }
    arguments
}

/// Up to 2^53 a float has all integers.
fn integer(number: f64) -> Option<i64> {
    let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    is_exact
        .then(|| format!("{number:.0}").parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_found_by_the_name_that_a_model_is_told() {
        for toolbox in [
            Toolbox::Skills,
            Toolbox::Engine,
            Toolbox::Knowledge,
            Toolbox::Scripts,
        ] {
            for tool in tools(toolbox) {
                assert_eq!(tool.definition().name, tool.name);
                assert!(
                    Checker::new(&tool.definition().input_schema).is_ok(),
                    "{}",
                    tool.name
                );
            }
        }
    }

    #[test]
    fn integers_are_integers_however_they_are_written() {
        let schema =
            json!({"properties": {"limit": {"type": "integer"}, "args": {"type": "object"}}});
        let cases = [
            (json!({"limit": 10.0}), json!({"limit": 10})),
            (json!({"limit": -0.0}), json!({"limit": 0})),
            (json!({"limit": 1.5}), json!({"limit": 1.5})),
            (json!({"limit": 1e300}), json!({"limit": 1e300})),
            (json!({"limit": u64::MAX}), json!({"limit": u64::MAX})),
            (
                json!({"args": {"limit": 10.0}, "other": 10.0}),
                json!({"args": {"limit": 10.0}, "other": 10.0}),
            ),
            (json!([10.0]), json!([10.0])),
        ];
        for (given, expected) in cases {
            assert_eq!(with_integers(given.clone(), &schema), expected, "{given}");
        }
    }
}
