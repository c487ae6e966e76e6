//! The built-in tools, which exist whatever skills there are: one file each, and one line in
//! [`TOOLS`].

pub(crate) mod load_skill;
mod read_skill_resource;
mod run_skill_script;
mod search_references;
mod search_skills;
mod skills_bash;
mod skills_create;
mod skills_ls;
mod skills_read;
mod skills_run;
mod skills_write;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use skills_runtime::policy::ResourceLimits;
use skills_runtime::{Catalog, SkillRuntime};
use skills_script::TOOL_NAME_PREFIX;

use crate::argument_validator::{ArgumentValidator, integer};
use crate::coercion::coerce;
use crate::portable_schema::{
    remove_client_arguments, remove_size_bounds, remove_unknown_arguments, to_portable,
};
use crate::schema::skill_name_schema;
use crate::tool::{Call, Tool};
use crate::tool_definition::{Annotations, ToolDefinition};
use crate::{ToolError, ToolGroup};

/// All built-in tools. A group lists its tools in this order, and so does a step of the guide.
static TOOLS: [BuiltinTool; 11] = [
    BuiltinTool::new(search_skills::TOOL),
    BuiltinTool::new(load_skill::TOOL),
    BuiltinTool::new(read_skill_resource::TOOL),
    BuiltinTool::new(search_references::TOOL),
    BuiltinTool::new(skills_ls::TOOL),
    BuiltinTool::new(skills_read::TOOL),
    BuiltinTool::new(skills_write::TOOL),
    BuiltinTool::new(skills_create::TOOL),
    BuiltinTool::new(run_skill_script::TOOL),
    BuiltinTool::new(skills_run::TOOL),
    BuiltinTool::new(skills_bash::TOOL),
];

/// A built-in tool with what is derived from its schemas once, on first use, and shared by all tool
/// sets.
pub(crate) struct BuiltinTool {
    pub(crate) tool: Tool,
    definition: OnceLock<ToolDefinition>,
    validator: OnceLock<Result<ArgumentValidator, ToolError>>,
}

/// Returns all built-in tools, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().map(|builtin| &builtin.tool)
}

/// Returns the tools of these groups, each once, in the order in which they are listed.
pub(crate) fn builtin_tools(groups: &[ToolGroup]) -> Vec<&'static BuiltinTool> {
    let mut found: Vec<&BuiltinTool> = Vec::new();
    for group in groups {
        for builtin in TOOLS.iter().filter(|one| one.tool.groups.contains(group)) {
            // A tool that is listed twice is an error for model APIs.
            if !found
                .iter()
                .any(|known| known.tool.name == builtin.tool.name)
            {
                found.push(builtin);
            }
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
        .filter(|builtin| !matches!(builtin.tool.call, Call::Files(_)));
    name.starts_with(TOOL_NAME_PREFIX) || executing.any(|builtin| builtin.tool.name == name)
}

impl BuiltinTool {
    const fn new(tool: Tool) -> Self {
        Self {
            tool,
            definition: OnceLock::new(),
            validator: OnceLock::new(),
        }
    }

    /// Returns the definition, with the names of the available skills where the tool takes one, and
    /// the longest timeout where it takes that.
    pub(crate) fn definition_with_names(
        &self,
        runtime: &SkillRuntime,
        catalog: &Catalog,
        max_timeout: Duration,
    ) -> ToolDefinition {
        let mut definition = self.definition().clone();
        set_max_timeout(&mut definition.input_schema, max_timeout);
        // The cached definition is shared by all tool sets, so names that depend on a catalog are
        // added to the copy.
        if self.tool.lists_skills {
            definition.input_schema["properties"]["name"] = skill_name_schema(runtime, catalog);
        }
        definition
    }

    /// Validates arguments and returns them with integral floats converted to integers, and the
    /// names of the arguments that were ignored. Skill names are not validated here: the tool
    /// itself reports unknown names with suggestions.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub(crate) fn validate(
        &self,
        mut arguments: Value,
        max_timeout: Duration,
    ) -> Result<(Value, Vec<String>), ToolError> {
        let schema = &self.definition().input_schema;
        coerce(&mut arguments, schema);
        remove_client_arguments(&mut arguments, schema);
        let ignored = if self.tool.annotations == Annotations::READ_ONLY {
            remove_unknown_arguments(&mut arguments, schema)
        } else {
            Vec::new()
        };
        // The definition lacks the bounds of sizes.
        if max_timeout > ResourceLimits::MAX_CHOSEN_TIME {
            let mut schema = (self.tool.input_schema)();
            set_max_timeout(&mut schema, max_timeout);
            ArgumentValidator::new(&schema)?.validate(&arguments)?;
            return Ok((normalize_integers(arguments, &schema), ignored));
        }
        match self
            .validator
            .get_or_init(|| ArgumentValidator::new(&(self.tool.input_schema)()))
        {
            Ok(validator) => validator.validate(&arguments)?,
            Err(error) => return Err(error.clone()),
        }
        Ok((normalize_integers(arguments, schema), ignored))
    }

    /// Returns the definition without skill names.
    pub(crate) fn definition(&self) -> &ToolDefinition {
        self.definition.get_or_init(|| {
            let tool = &self.tool;
            ToolDefinition {
                name: tool.name.to_owned(),
                title: tool.title.to_owned(),
                description: tool.description.to_owned(),
                input_schema: remove_size_bounds(to_portable((tool.input_schema)())),
                output_schema: (tool.output_schema)(),
                annotations: tool.annotations,
            }
        })
    }
}

/// Sets the maximum of the argument `timeout`, if the tool has it.
fn set_max_timeout(schema: &mut Value, max: Duration) {
    if let Some(timeout) = schema["properties"].get_mut("timeout") {
        timeout["maximum"] = max.as_secs().into();
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
        let float = value.as_number().filter(|number| number.is_f64());
        if let Some(integer) = float.and_then(|number| i64::try_from(integer(number)?).ok()) {
            *value = integer.into();
        }
    }
    arguments
}
