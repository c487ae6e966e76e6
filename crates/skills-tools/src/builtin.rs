//! The built-in tools, which exist whatever skills there are.

use std::sync::OnceLock;

use serde_json::Value;
use skills_runtime::{Catalog, SkillRuntime};
use skills_script::TOOL_NAME_PREFIX;

use crate::argument_validator::ArgumentValidator;
use crate::catalog_tools::{load, references, resource, search, skill_name_schema};
use crate::file_tools::{create, ls, read, write};
use crate::portable_schema::{
    remove_client_arguments, remove_size_bounds, remove_unknown_arguments, to_portable,
};
use crate::run::{run_skill_script, skills_bash, skills_run};
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{ToolError, ToolGroup};

/// A built-in tool. Its definition and its argument validator are built once, on first use, and
/// shared by all tool sets.
pub(crate) struct BuiltinTool {
    pub(crate) kind: BuiltinKind,
    pub(crate) name: &'static str,
    define: fn() -> ToolDefinition,
    definition: OnceLock<ToolDefinition>,
    validator: OnceLock<Result<ArgumentValidator, ToolError>>,
}

/// Identifies a built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinKind {
    Ls,
    Read,
    Write,
    Create,
    Run,
    Bash,
    RunSkillScript,
    SearchSkills,
    LoadSkill,
    ReadSkillResource,
    SearchReferences,
}

static TOOLS: [BuiltinTool; 11] = [
    BuiltinTool::new(BuiltinKind::Ls, "skills_ls", ls::definition),
    BuiltinTool::new(BuiltinKind::Read, "skills_read", read::definition),
    BuiltinTool::new(BuiltinKind::Write, "skills_write", write::definition),
    BuiltinTool::new(BuiltinKind::Create, "skills_create", create::definition),
    BuiltinTool::new(BuiltinKind::Run, "skills_run", skills_run::definition),
    BuiltinTool::new(BuiltinKind::Bash, "skills_bash", skills_bash::definition),
    BuiltinTool::new(
        BuiltinKind::RunSkillScript,
        "run_skill_script",
        run_skill_script::definition,
    ),
    BuiltinTool::new(
        BuiltinKind::SearchSkills,
        "search_skills",
        search::definition,
    ),
    BuiltinTool::new(BuiltinKind::LoadSkill, "load_skill", load::definition),
    BuiltinTool::new(
        BuiltinKind::ReadSkillResource,
        "read_skill_resource",
        resource::definition,
    ),
    BuiltinTool::new(
        BuiltinKind::SearchReferences,
        "search_references",
        references::definition,
    ),
];

/// Returns the kinds of the built-in tools of a group, in the order in which they are listed.
fn kinds(group: ToolGroup) -> &'static [BuiltinKind] {
    use BuiltinKind::*;
    match group {
        ToolGroup::Core => &[SearchSkills, LoadSkill, Ls, Read, Write, Run, Bash],
        ToolGroup::Workspace => &[Ls, Read, Write, Create, Run, Bash],
        ToolGroup::ScriptExecutor => &[RunSkillScript],
        ToolGroup::Catalog => &[SearchSkills, LoadSkill, ReadSkillResource, SearchReferences],
        ToolGroup::LoadedScripts | ToolGroup::ScriptTools => &[],
    }
}

/// Returns the tools of these groups, each once, in the order in which they are listed.
pub(crate) fn builtin_tools(groups: &[ToolGroup]) -> Vec<&'static BuiltinTool> {
    let mut found: Vec<&BuiltinTool> = Vec::new();
    let kinds = groups.iter().flat_map(|group| kinds(*group));
    for tool in kinds.filter_map(|kind| TOOLS.iter().find(|tool| tool.kind == *kind)) {
        // A tool that is listed twice is an error for model APIs.
        if !found.iter().any(|known| known.kind == tool.kind) {
            found.push(tool);
        }
    }
    found
}

/// Returns true if a call of the tool with this name can start a program: a built-in tool that runs
/// programs, or the tool of a script, whether it exists or not. For hosts that prepare something
/// before a program starts.
///
/// ```
/// assert!(skills_tools::starts_programs("skills_run"));
/// assert!(skills_tools::starts_programs("skill__greet__hello"));
/// assert!(!skills_tools::starts_programs("load_skill"));
/// ```
#[must_use]
pub fn starts_programs(name: &str) -> bool {
    let mut executing = TOOLS
        .iter()
        .filter(|tool| tool.definition().annotations == Annotations::EXECUTES);
    name.starts_with(TOOL_NAME_PREFIX) || executing.any(|tool| tool.name == name)
}

impl BuiltinTool {
    const fn new(kind: BuiltinKind, name: &'static str, define: fn() -> ToolDefinition) -> Self {
        Self {
            kind,
            name,
            define,
            definition: OnceLock::new(),
            validator: OnceLock::new(),
        }
    }

    /// Returns the definition, with the names of the available skills where the tool takes one.
    pub(crate) fn definition_with_names(
        &self,
        runtime: &SkillRuntime,
        catalog: &Catalog,
    ) -> ToolDefinition {
        let mut definition = self.definition().clone();
        // The cached definition is shared by all tool sets, so names that depend on a catalog are
        // added to the copy.
        if matches!(
            self.kind,
            BuiltinKind::LoadSkill | BuiltinKind::ReadSkillResource
        ) {
            definition.input_schema["properties"]["name"] = skill_name_schema(runtime, catalog);
        }
        definition
    }

    /// Validates arguments and returns them with integral floats converted to integers, and the names
    /// of the arguments that were ignored. Skill names are not validated here: the tool itself
    /// reports unknown names with suggestions.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub(crate) fn validate(&self, mut arguments: Value) -> Result<(Value, Vec<String>), ToolError> {
        let schema = &self.definition().input_schema;
        remove_client_arguments(&mut arguments, schema);
        let ignored = if self.definition().annotations == Annotations::READ_ONLY {
            remove_unknown_arguments(&mut arguments, schema)
        } else {
            Vec::new()
        };
        // The definition lacks the bounds of sizes.
        match self
            .validator
            .get_or_init(|| ArgumentValidator::new(&(self.define)().input_schema))
        {
            Ok(validator) => validator.validate(&arguments)?,
            Err(error) => return Err(error.clone()),
        }
        Ok((normalize_integers(arguments, schema), ignored))
    }

    /// Returns the definition without skill names.
    pub(crate) fn definition(&self) -> &ToolDefinition {
        self.definition.get_or_init(|| {
            let definition = (self.define)();
            ToolDefinition {
                input_schema: remove_size_bounds(to_portable(definition.input_schema)),
                ..definition
            }
        })
    }
}

/// Converts `10.0` to `10` where the schema expects an integer: JSON Schema accepts it as one,
/// serde does not.
fn normalize_integers(mut arguments: Value, schema: &Value) -> Value {
    // Only top-level properties: no built-in tool has nested integers.
    let is_integer = |name: &str| schema["properties"][name]["type"] == "integer";
    for (_, value) in arguments
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_integer(name))
    {
        if let Some(integer) = value
            .as_f64()
            .filter(|_| value.is_f64())
            .and_then(exact_integer)
        {
            *value = integer.into();
        }
    }
    arguments
}

/// Converts an integral float. Up to 2^53 every integer has an exact representation.
fn exact_integer(number: f64) -> Option<i64> {
    let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    is_exact
        // `as i64` would saturate silently; the text of an exact integer parses or fails.
        .then(|| format!("{number:.0}").parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_builtin_tool_has_the_name_in_its_definition() {
        assert_eq!(builtin_tools(&ToolGroup::ALL).len(), TOOLS.len());
        for tool in &TOOLS {
            assert_eq!(tool.definition().name, tool.name);
            assert!(
                ArgumentValidator::new(&tool.definition().input_schema).is_ok(),
                "{}",
                tool.name
            );
        }
    }

    #[test]
    fn a_tool_of_two_groups_is_listed_once() {
        let names: Vec<&str> = builtin_tools(&[ToolGroup::Core, ToolGroup::Catalog])
            .iter()
            .map(|tool| tool.name)
            .collect();
        assert_eq!(
            names.join(" "),
            "search_skills load_skill skills_ls skills_read skills_write skills_run skills_bash read_skill_resource search_references"
        );
    }

    #[test]
    fn integral_floats_are_converted_to_integers() {
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
            assert_eq!(
                normalize_integers(given.clone(), &schema),
                expected,
                "{given}"
            );
        }
    }
}
