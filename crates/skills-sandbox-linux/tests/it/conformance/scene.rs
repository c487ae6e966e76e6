//! A skill with its surroundings.

use std::path::Path;
use std::process::Command;

use skills_sandbox_conformance::attempts::paths_prelude;
use skills_sandbox_linux::IsolationMode;
use skills_test_support::scene::{populate, processes_with_argument};
use skills_test_support::{host, skip_part};

use crate::skill::Skill;

pub(crate) use skills_test_support::scene::{ConnectionCount, Victim, metadata_of_tree};

/// Creates a skill with a sibling, and files outside that all users may read.
pub(crate) fn create_scene(mode: IsolationMode) -> Skill {
    create_scene_below(&std::env::temp_dir(), mode)
}

/// Creates the same in a directory.
pub(crate) fn create_scene_below(parent: &Path, mode: IsolationMode) -> Skill {
    let skill = Skill::below(parent, mode);
    populate(&skill.path(""));
    skill
}

/// Returns Python assignments with the paths around the skill.
pub(crate) fn python_paths(skill: &Skill) -> String {
    paths_prelude(&skill.path(""))
}

/// Returns `false` and records a skip if this host has no Node.
#[track_caller]
pub(crate) fn has_node() -> bool {
    host::program("node")
        .inspect_err(|reason| skip_part("attempts by Node", reason))
        .is_ok()
}

/// Returns the report of a run of a skill like this one.
pub(crate) async fn report(skill: &Skill) -> skills_sandbox::EnforcementReport {
    create_scene(skill.isolation)
        .tool("Write")
        .tool("Bash")
        .run_shell(":")
        .await
        .enforcement
}

/// Kills the remaining processes of a skill after its host process was killed.
pub(crate) fn kill_all(skill: &Skill) {
    for pid in alive(skill) {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

/// Returns the PIDs of processes with the directory of the skill in their arguments, as scripts
/// have it.
pub(crate) fn alive(skill: &Skill) -> Vec<u32> {
    processes_with_argument(&skill.path("skill").display().to_string())
}
