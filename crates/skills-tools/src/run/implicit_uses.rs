//! Uses of skills by commands of a model, which no tool of the skill sees.

use std::path::Path;

use skills_runtime::prompt::{CommandLine, UseKind};
use skills_runtime::{CallContext, Entry, HostCommand};

use super::ProgramTools;
use super::visible_dirs::VisibleDirs;

/// The skills that a command uses; none by default.
#[derive(Default)]
pub(super) struct ImplicitUses(Vec<(Entry, UseKind)>);

impl ProgramTools {
    /// Returns the skills whose instructions a command reads or whose scripts it runs; none if uses
    /// are not recorded. Virtual paths in the command count as the directories that they stand for.
    pub(super) fn implicit_uses(
        &self,
        command: &HostCommand,
        args: &[String],
        directory: &Path,
        visible_dirs: &VisibleDirs,
    ) -> ImplicitUses {
        if !self.runtime.library().usage().is_enabled() {
            return ImplicitUses::default();
        }
        let paths = visible_dirs.host_path_map();
        let index = self.runtime.prompt().implicit_index();
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
        ImplicitUses(owned.collect())
    }

    /// Records the skills that a command has used, after it ran.
    pub(super) fn record_implicit_uses(&self, uses: &ImplicitUses, context: &CallContext) {
        let usage = self.runtime.library().usage();
        for (entry, kind) in &uses.0 {
            usage.record_implicit(entry, *kind, context.session_id());
        }
    }
}
