//! A host with skills, a workspace and drafts in a temporary directory.

use std::fs;
use std::ops::Deref;

use serde_json::Value;
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{Builder as RuntimeBuilder, Policy, Root, Scope, SkillRuntime};
use skills_test_support::SkillTree;
use skills_tools::{
    CallContext, Mount, ProgramOptions, ToolGroup, ToolOutput, ToolSet, ToolSetBuilder,
    WorkingDirectory,
};

/// The paths of its files must never be in a result.
pub(crate) struct Host(SkillTree);

impl Deref for Host {
    type Target = SkillTree;

    fn deref(&self) -> &SkillTree {
        &self.0
    }
}

impl Host {
    pub(crate) fn new() -> Self {
        let host = Self(SkillTree::new("skills/"));
        for name in ["workspace", "scratch"] {
            fs::create_dir(host.path(name)).unwrap();
        }
        host
    }

    pub(crate) fn runtime(&self) -> RuntimeBuilder {
        SkillRuntime::builder()
            .root(Root::new(self.path("skills"), Scope::Custom))
            .root(Root::new(self.path("drafts"), Scope::User).trust(Trust::Untrusted))
            .scratch_directory(self.path("scratch"))
    }

    pub(crate) fn builder(&self, runtime: RuntimeBuilder) -> ToolSetBuilder {
        ToolSet::builder(runtime.build())
            .tool_groups(ToolGroup::ALL)
            .workspace(Mount::writable("workspace", self.path("workspace")))
            .drafts_dir(self.path("drafts"))
    }

    /// Builds the tools with the default rules.
    pub(crate) fn tools(&self) -> Tools {
        self.tools_with(Policy::default())
    }

    /// Builds the tools with `allow` rules of the invocation.
    pub(crate) fn allowing(&self, texts: &[&str]) -> Tools {
        let allow = |rules: Policy, text: &&str| {
            rules.rule(Rule::parse(Effect::Allow, RuleSource::Invocation, text).unwrap())
        };
        self.tools_with(texts.iter().fold(Policy::default(), allow))
    }

    pub(crate) fn tools_with(&self, rules: Policy) -> Tools {
        self.wrap(self.builder(self.runtime().policy(rules)).build().unwrap())
    }

    /// Builds the tools for scripts that start in the private directory of their session.
    pub(crate) fn in_sessions(&self, rules: Policy) -> Tools {
        let options = ProgramOptions::default().working_directory(WorkingDirectory::Session);
        let builder = self.builder(self.runtime().policy(rules));
        self.wrap(builder.program_options(options).build().unwrap())
    }

    pub(crate) fn wrap(&self, set: ToolSet) -> Tools {
        Tools {
            set,
            host: self
                .path("")
                .to_string_lossy()
                .trim_end_matches('/')
                .to_owned(),
        }
    }

    /// Returns a permission to write to the parent directory of the workspace.
    pub(crate) fn write_rule(&self) -> String {
        format!("write:{}", self.path("workspace").display())
    }
}

/// Tools whose results are checked for host paths.
pub(crate) struct Tools {
    pub(crate) set: ToolSet,
    host: String,
}

impl Tools {
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.call_in(name, arguments, &CallContext::default()).await
    }

    pub(crate) async fn call_in(
        &self,
        name: &str,
        arguments: Value,
        context: &CallContext,
    ) -> ToolOutput {
        let outcome = self
            .set
            .call(name, arguments.clone(), context)
            .await
            .unwrap();
        let output = format!(
            "{} {} {:?}",
            outcome.text(),
            outcome.structured,
            outcome.files
        );
        assert!(
            !output.contains(&self.host),
            "{name} {arguments} contains a host path: {output}"
        );
        self.check_data(name, &outcome);
        outcome
    }

    /// Asserts that the data match the output schema.
    fn check_data(&self, name: &str, outcome: &ToolOutput) {
        let definitions = self.set.definitions().unwrap();
        let definition = definitions
            .iter()
            .find(|definition| definition.name == name)
            .unwrap();
        let validator = jsonschema::draft202012::new(&definition.output_schema).unwrap();
        let mistakes: Vec<String> = validator
            .iter_errors(&outcome.structured)
            .map(|error| error.to_string())
            .collect();
        assert!(
            mistakes.is_empty(),
            "{name}: {mistakes:?} {}",
            outcome.structured
        );
        assert_eq!(
            outcome.is_error,
            outcome.structured.get("error").is_some(),
            "{name}"
        );
    }

    /// Returns what the program of a call printed, without the words of the tool if it did.
    pub(crate) async fn answer(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.answer().to_owned()
    }

    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.text().into_owned()
    }
}

/// The part of a result that a test of a program is about.
pub(crate) trait ToolOutputExt {
    /// Returns what the program printed, else the words of the tool.
    fn answer(&self) -> &str;
}

impl ToolOutputExt for ToolOutput {
    fn answer(&self) -> &str {
        self.program_output().unwrap_or(self.own_text())
    }
}
