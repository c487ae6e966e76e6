//! Builds the tool set that `skills tools`, `skills call` and `skills mcp` share.

use std::path::{Path, PathBuf};

use clap::Args;
use skills_runtime::discovery::{SearchDepth, Trust};
use skills_runtime::policy::{Rule, RuleSource};
use skills_runtime::{Builder, Executor, Root, Scope};
use skills_store::locations;
use skills_tools::{Mount, OverrideStore, ToolGroup, ToolSet, ToolSetBuilder};

use crate::context::Context;
use crate::error::CommandError;
use crate::mount::{MountArg, parse_mount};
use crate::process_environment::Environment;
use crate::program_args::{ProgramArgs, allow_writing};
use crate::remedies::{RemedyDescriptions, RemedyStyle};
use crate::state;
use crate::words::word_parser;

/// The tools that a model gets.
#[derive(Debug, Clone, Args)]
pub(crate) struct ToolGroupArgs {
    /// Tools to offer (repeatable, or separated by commas)
    #[arg(
        long,
        value_name = "GROUP",
        value_parser = word_parser(&GROUPS),
        value_delimiter = ',',
        default_value = "default"
    )]
    tools: Vec<&'static [ToolGroup]>,
}

/// The groups of tools by the words of `--tools`.
const GROUPS: [(&str, &str, &[ToolGroup]); 6] = [
    (
        "default",
        "Seven tools to find, read and run skills; tools of the scripts of a loaded skill",
        &ToolGroup::DEFAULT,
    ),
    (
        "workspace",
        "The six tools for files and commands: skills_ls, skills_read, skills_write, skills_create, skills_run, skills_bash",
        &[ToolGroup::Workspace],
    ),
    (
        "catalog",
        "The tools for models without file access: search_skills, load_skill, read_skill_resource, search_references",
        &[ToolGroup::Catalog],
    ),
    ("runner", "run_skill_script", &[ToolGroup::ScriptExecutor]),
    (
        "scripts",
        "One tool for each script of all skills",
        &[ToolGroup::ScriptTools],
    ),
    ("all", "Each of these tools", &ToolGroup::ALL),
];

impl ToolGroupArgs {
    /// Returns the selected groups.
    pub(crate) fn groups(&self) -> Vec<ToolGroup> {
        self.tools.concat()
    }
}

/// Directories that tools and programs can access.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostArgs {
    #[command(flatten)]
    pub(crate) programs: ProgramArgs,

    /// Mount another directory under a name, read-only (repeatable)
    ///
    /// The suffix `,rw` makes it writable; `,mirror` makes its host path valid as well.
    #[arg(long, value_name = "NAME=DIR[,rw][,mirror]", value_parser = parse_mount)]
    mount: Vec<MountArg>,

    /// Directory of drafts [default: drafts in the data directory]
    ///
    /// Skills that a model creates are drafts. They do not run until `skills accept`.
    #[arg(long, value_name = "DIR")]
    drafts: Option<PathBuf>,
}

/// A tool set for calls, with what runs its programs.
pub(crate) struct CallableTools {
    pub(crate) tools: ToolSet,
    pub(crate) executor: Executor,
}

/// Returns the directory of drafts: the given one, else the default.
pub(crate) fn drafts_dir(
    given: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<Option<PathBuf>> {
    Ok(match given {
        Some(given) => Some(std::path::absolute(given)?),
        None => environment.drafts_dir(),
    })
}

pub(crate) fn workspace_mount(directory: PathBuf) -> Mount {
    Mount::writable("workspace", directory).with_host_path()
}

/// Returns the root of the drafts. It is untrusted, so drafts are listed, but do not run.
pub(crate) fn draft_root(drafts: &Path) -> Root {
    Root::new(drafts, Scope::User)
        // Trust is a property of roots, so drafts need no list of their own: accepting a draft
        // moves it to a trusted root.
        .trust(Trust::Untrusted)
        .depth(SearchDepth::Children)
}

impl HostArgs {
    /// Builds the tool set for calls, with the policy of all sources, approval store and audit log.
    pub(crate) fn callable_tools(
        &self,
        builder: Builder,
        groups: Vec<ToolGroup>,
        command: RemedyStyle,
        context: &Context,
    ) -> anyhow::Result<CallableTools> {
        let mut rules = self.mount_rules()?;
        rules.extend(self.programs.workspace_rule(context)?);
        let builder = self.programs.configure(builder, rules, context)?;
        let workspace = self.programs.workspace_dir(context)?;
        let environment = &context.environment;
        let remedies = RemedyDescriptions::new(command, workspace.as_deref(), environment);
        let (tools, executor) = self.builder(builder, context)?;
        let tools = tools
            .tool_groups(groups)
            .program_options(self.programs.tool_options(context)?)
            .hooks(self.programs.hook_mode(context)?)
            .remedies(move |remedy| remedies.describe(remedy))
            .build()
            .map_err(|error| CommandError::input(error.to_string()))?;
        Ok(CallableTools { tools, executor })
    }

    /// Returns the rules for writable mounts. The user named them, so they count as approved, like the
    /// paths of `--write`.
    pub(crate) fn mount_rules(&self) -> anyhow::Result<Vec<Rule>> {
        let writable = self.mount.iter().filter(|mount| mount.is_writable);
        writable
            .map(|mount| allow_writing(&mount.directory, RuleSource::Invocation, "--mount"))
            .collect()
    }

    /// Builds the tool set with a runtime. Without a policy nothing can run.
    pub(crate) fn tools(
        &self,
        builder: Builder,
        groups: Vec<ToolGroup>,
        context: &Context,
    ) -> anyhow::Result<ToolSet> {
        let (tools, _) = self.builder(builder, context)?;
        let tools = tools.tool_groups(groups).build();
        tools.map_err(|error| CommandError::input(error.to_string()).into())
    }

    fn builder(
        &self,
        mut builder: Builder,
        context: &Context,
    ) -> anyhow::Result<(ToolSetBuilder, Executor)> {
        let drafts = drafts_dir(self.drafts.as_deref(), &context.environment)?;
        if let Some(drafts) = &drafts {
            builder = builder.root(draft_root(drafts));
        }
        let runtime = context.build(builder);
        let executor = runtime.executor().clone();
        let mut tools = ToolSet::builder(runtime);
        if let Some(directory) = self.programs.workspace_dir(context)? {
            tools = tools.workspace(workspace_mount(directory));
        }
        for mount in &self.mount {
            tools = tools.mount(mount.to_mount());
        }
        tools = drafts.into_iter().fold(tools, ToolSetBuilder::drafts_dir);
        // A mount can contain these paths. The rules deny them to programs only, so the file tools
        // get them too.
        let own = state::own_paths(&context.environment).into_iter();
        let own = own.map(|own| own.path);
        let all = own.chain(self.programs.env_files(context)?);
        // A symlink that leads nowhere leads to what is created there.
        tools = tools.protect(all.flat_map(|path| locations(&path)));
        if let Some(path) = state::overrides_path(&context.environment) {
            tools = tools
                .protect([path.clone()])
                .overrides(OverrideStore::in_file(path));
        }
        Ok((tools, executor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools_of(groups: &[ToolGroup]) -> Vec<String> {
        let without_skills = ToolSet::builder(Builder::default().build());
        let tools = without_skills.tool_groups(groups.iter().copied());
        let definitions = tools.build().unwrap().definitions().unwrap();
        definitions.into_iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn the_help_of_a_group_names_its_tools() {
        for (word, help, groups) in GROUPS {
            let tools = tools_of(groups);
            let words = help.split(|c: char| !c.is_alphanumeric() && c != '_');
            let named: Vec<&str> = words.filter(|word| word.contains('_')).collect();
            match word {
                "default" => assert!(
                    help.starts_with("Seven tools ") && tools.len() == 7,
                    "{help}"
                ),
                "all" => assert!(named.is_empty(), "{help}"),
                _ => assert_eq!(named, tools, "{help}"),
            }
            if word == "workspace" {
                assert!(
                    help.starts_with("The six tools ") && tools.len() == 6,
                    "{help}"
                );
            }
        }
    }

    /// Results name a group of tools as this option does.
    #[test]
    fn groups_have_their_names() {
        for (word, _, groups) in GROUPS.iter().filter(|(word, ..)| *word != "all") {
            assert!(groups.iter().all(|group| group.name() == *word), "{word}");
        }
    }
}
