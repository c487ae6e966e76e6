//! Uses of skills by commands of a model, which no tool of the skill sees.

use std::path::Path;

use skills_runtime::prompt::{CommandLine, UseKind};
use skills_runtime::{CallContext, Entry, HostCommand, SkillRuntime};

use super::visible_dirs::VisibleDirs;

/// The skills that a command uses; none by default.
#[derive(Default)]
pub(crate) struct ImplicitUses(Vec<(Entry, UseKind)>);

impl ImplicitUses {
    /// Returns the skills whose instructions a command reads or whose scripts it runs; none if uses
    /// are not recorded. Virtual paths in the command count as the directories that they stand for.
    pub(super) fn detect(
        runtime: &SkillRuntime,
        command: &HostCommand,
        args: &[String],
        directory: &Path,
        visible_dirs: &VisibleDirs,
    ) -> Self {
        if !runtime.library().usage().is_enabled() {
            return Self::default();
        }
        let paths = visible_dirs.host_path_map();
        let index = runtime.prompt().implicit_index();
        let uses = match command {
            HostCommand::Shell(text) => {
                index.detect(CommandLine::Shell(&paths.replace_in(text)), directory)
            }
            HostCommand::Program(program) => {
                let args = args.iter().map(|arg| paths.replace_in(arg));
                let words: Vec<String> = std::iter::once(program.clone()).chain(args).collect();
                index.detect(CommandLine::Argv(&words), directory)
            }
            _ => Vec::new(),
        };
        let owned = uses.iter().map(|one| (one.entry.clone(), one.kind));
        Self(owned.collect())
    }

    /// Records the skills that a command has used, after it ran.
    pub(crate) fn record(&self, runtime: &SkillRuntime, context: &CallContext) {
        let usage = runtime.library().usage();
        for (entry, kind) in &self.0 {
            usage.record_implicit(entry, *kind, context.session_id());
        }
    }
}
