//! Reads the text of scripts into tools that a model can call.
//!
//! ```text
//! files of scripts/ ---select_scripts, find_modules---> scripts ---assign_names---> tool names
//! text of a script, declaration ---ScriptTool::new---> description, JSON schema, ArgumentSpec
//! JSON arguments of a call ---build_argv---> words and standard input of the program
//! ```
//!
//! Everything is computed from values: nothing is read from disk, imported or started. Text in a
//! script is not trusted: descriptions become one line without invisible characters, values never
//! become options that the model did not name, and inference takes linear time.
//!
//! Without a declaration, a parser for the framework that the text uses returns an
//! [`ArgumentSpec`]. If not all can be inferred, it is open for further words and options.
//!
//! ```
//! use skills_script::{ScriptTool, build_argv};
//!
//! let source = b"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--city', required=True)\n";
//! let tool = ScriptTool::new("weather", "now.py", "skill__weather__now".into(), source, None);
//! assert_eq!(tool.input_schema["required"][0], "city");
//!
//! let arguments = serde_json::json!({"city": "Bern"});
//! let call = build_argv(arguments.as_object().unwrap(), &tool.arguments).unwrap();
//! assert_eq!(call.args, ["--city", "Bern"]);
//! ```

mod argument;
mod argv;
mod declared;
mod description;
mod infer;
mod keywords;
mod language;
mod module;
mod named_command;
mod pattern;
mod resolve;
mod schema;
mod select;
mod source;
mod spec_match;
mod text;
mod tool_name;
mod warning;

use std::time::Duration;

use serde_json::Value;
use skills_manifest::ScriptSpec;

pub use argument::{
    Argument, ArgumentSource, ArgumentSpec, ArgumentStyle, Command, CommandSet, EXTRA_WORDS,
    ExtraArguments, Framework, InputConvention, JsonType, STDIN_TEXT, StandardInput, WordOrder,
    WordSyntax,
};
pub use argv::{ArgvError, ScriptArgv, build_argv, is_command_line};
pub use language::{Language, file_stem, stem};
pub use module::{ScriptText, find_modules};
pub use named_command::names_command;
pub use pattern::Pattern;
pub use select::{
    MAX_SCRIPT_BYTES, ScriptSelection, ScriptSkipReason, SkippedScript, may_be_script,
    select_scripts,
};
pub use spec_match::{find_spec, unmatched_specs};
pub use tool_name::{
    Collision, MAX_NAME_BYTES, ScriptSet, TOOL_NAME_PREFIX, ToolNames, assign_names,
};
pub use warning::ScriptWarning;

/// Maximum timeout that a skill can request, in seconds.
const MAX_TIMEOUT_SECONDS: f64 = 3600.0;
/// Minimum timeout that a skill can request, in seconds.
const MIN_TIMEOUT_SECONDS: f64 = 0.001;

/// One script as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptTool {
    /// The name of the skill.
    pub skill: String,
    /// The path relative to `scripts/`.
    pub file: String,
    /// The name of the tool, from [`assign_names`].
    pub name: String,
    /// The description: one line of at most 1024 characters.
    pub description: String,
    /// The arguments, and how they are passed.
    pub arguments: ArgumentSpec,
    /// The arguments as JSON Schema 2020-12.
    pub input_schema: Value,
    /// The timeout that the skill requests, from 1 ms to one hour.
    pub timeout: Option<Duration>,
    /// Parts of the declaration that were ignored.
    pub warnings: Vec<ScriptWarning>,
}

impl ScriptTool {
    /// Builds the tool of the script `file` of `skill`, whose content is `source`, with a name from
    /// [`assign_names`].
    ///
    /// `spec` is the entry of the skill's `scripts` block, from [`find_spec`].
    pub fn new(
        skill: &str,
        file: &str,
        name: String,
        source: &[u8],
        spec: Option<&ScriptSpec>,
    ) -> Self {
        let source = String::from_utf8_lossy(source);
        let (arguments, warnings) = resolve::resolve_arguments(spec, &source, file);
        Self {
            skill: skill.to_owned(),
            file: file.to_owned(),
            name,
            description: description::tool_description(spec, &source, file, skill, &arguments),
            input_schema: schema::input_schema(&arguments),
            arguments,
            timeout: spec.and_then(|spec| spec.timeout_seconds).and_then(timeout),
            warnings,
        }
    }
}

fn timeout(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.clamp(MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS)).ok()
}

#[cfg(test)]
mod tests {
    use skills_manifest::Document;

    use super::*;

    const WEATHER: &[u8] = include_bytes!("../../../examples/skills/weather/SKILL.md");

    fn show(tool: &ScriptTool) -> Value {
        let ScriptTool {
            name,
            description,
            input_schema,
            timeout,
            warnings,
            ..
        } = tool;
        let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        serde_json::json!({
            "name": name, "description": description, "input_schema": input_schema,
            "timeout_ms": timeout.map(|timeout| timeout.as_millis()), "warnings": warnings,
        })
    }

    #[test]
    fn the_weather_skill_has_three_scripts() {
        let document = Document::parse(WEATHER).unwrap();
        let specs = &document.manifest().extensions().scripts;
        let files: [(&str, &[u8]); 3] = [
            (
                "get_current.py",
                include_bytes!("../../../examples/skills/weather/scripts/get_current.py"),
            ),
            (
                "get_forecast.py",
                include_bytes!("../../../examples/skills/weather/scripts/get_forecast.py"),
            ),
            (
                "list_cities.py",
                include_bytes!("../../../examples/skills/weather/scripts/list_cities.py"),
            ),
        ];
        let all = files.map(|(file, _)| file.to_owned());
        let names = tool_name::assign_names(&[tool_name::ScriptSet {
            name: "weather",
            directory: "/weather".as_ref(),
            files: &all,
        }])
        .names;
        let tool = |((file, source), name): (&(&str, &[u8]), String)| {
            ScriptTool::new(
                "weather",
                file,
                name,
                source,
                spec_match::find_spec(specs, file),
            )
        };
        let tools: Vec<_> = files
            .iter()
            .zip(names)
            .map(|pair| show(&tool(pair)))
            .collect();
        insta::assert_json_snapshot!("weather", tools);
        assert_eq!(spec_match::unmatched_specs(specs, &all), []);
    }

    #[test]
    fn without_a_declaration_the_source_is_inspected() {
        let source: &[u8] =
            include_bytes!("../../../examples/skills/weather/scripts/get_forecast.py");
        insta::assert_json_snapshot!(
            "derived",
            show(&ScriptTool::new(
                "weather",
                "get_forecast.py",
                "skill__weather__get_forecast".to_owned(),
                source,
                None
            ))
        );
    }

    #[test]
    fn tricky_sources_are_parsed_correctly() {
        let source = r##"#!/usr/bin/env python3
# Description: not this
(u'Makes ' \
  'it\u202e so.'
)
parser.add_argument( # one
    '-c', '--city',
    help=('Name, e.g. "("' # two
          ' or ]'), default={'a': 1}, required = True)
x = f'p.add_argument("--no")'
g.add_argument('files', nargs='+', help='''Files
    to read''', choices=['a', "b",])
if p.add_argument == '--x': pass
"##;
        let tool = ScriptTool::new(
            "s",
            "a.py",
            "skill__s__a".to_owned(),
            source.as_bytes(),
            None,
        );
        insta::assert_json_snapshot!("tricky", show(&tool));
        let given = serde_json::json!({"city": "--help", "files": ["a", "b"]});
        let passed = argv::build_argv(given.as_object().unwrap(), &tool.arguments).unwrap();
        assert_eq!(passed.args, ["--city=--help", "a", "b"]);
    }

    #[test]
    fn binary_sources_accept_any_arguments() {
        let tool = ScriptTool::new(
            "s",
            "a.py",
            "skill__s__a".to_owned(),
            b"\xff\xfe\x00'''\xc3\x28",
            None,
        );
        assert!(tool.description.starts_with("Execute a from s. "));
        assert_eq!(tool.arguments, ArgumentSpec::none_found());
        assert_eq!(tool.timeout, None);
    }

    #[test]
    fn timeouts_are_clamped_to_one_millisecond_and_one_hour() {
        let check = |written: &str, expected: Option<u64>| {
            let specs = spec_match::tests::specs(&format!("  a:\n    timeout: {written}"));
            let tool = ScriptTool::new("s", "a.sh", String::new(), b"", specs.first());
            assert_eq!(
                tool.timeout,
                expected.map(Duration::from_millis),
                "{written}"
            );
        };
        check("1.5", Some(1500));
        check("1e-9", Some(1));
        check("1e300", Some(3_600_000));
        check("-1", None);
    }
}
