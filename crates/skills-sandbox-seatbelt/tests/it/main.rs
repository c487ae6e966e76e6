//! Tests at the boundary of the crate: grants in, profile and plan out, on every system.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod decisions;
mod evaluator;
mod hostile;
mod plan;
mod profile;

use std::path::Path;

use evaluator::Evaluator;
use skills_policy::{ApprovalMode, Authorization, Grants, Policy, Request};
use skills_sandbox_seatbelt::{ExecutableSet, Profile, ProfileError, ProfileInput, ProxyAccess};

const SKILL: &str = "/Users/me/project/.claude/skills/pdf";
const PROJECT: &str = "/Users/me/project";
/// A file that may hold keys.
const KEY: &str = "/Users/me/project/sub/.env";
const SCRATCH: &str = "/private/var/folders/ab/T/skill-x1";

/// Grants everything that the tools of a skill request. Policy does not allow writing in the skill
/// directory, so `Write` stands for a private workspace, which policy does not restrict: the
/// denials there come from the profile alone.
fn grants(directory: &Path, workspace: &str, tools: &[(&str, Option<&str>)]) -> Grants {
    let request = match tools.iter().any(|(tool, _)| *tool == "Write") {
        true => Request::new(directory).private_workspace(workspace),
        // A workspace is readable without a tool.
        false if tools.iter().any(|(tool, _)| *tool == "Read") => {
            Request::new(directory).workspace(workspace)
        }
        false => Request::new(directory),
    };
    let request = tools.iter().fold(request, |request, (tool, pattern)| {
        request.allowed_tool(tool, *pattern)
    });
    match Policy::default()
        .with_mode(ApprovalMode::Trusted)
        .authorize(&request)
    {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    }
}

fn profile_of(
    grants: &Grants,
    executables: &ExecutableSet,
    script: &Path,
    network: ProxyAccess,
) -> Result<Profile, ProfileError> {
    Profile::new(&ProfileInput {
        grants,
        executables,
        script,
        scratch: Path::new(SCRATCH),
        network,
        keys: &[KEY.into()],
    })
}

/// The profile for the Python script of a skill.
fn profile_for(directory: &Path, tools: &[(&str, Option<&str>)]) -> Result<Profile, ProfileError> {
    let executables = ExecutableSet::new("/usr/bin/python3").program("git", "/usr/bin/git");
    profile_of(
        &grants(directory, PROJECT, tools),
        &executables,
        &directory.join("scripts/run.py"),
        ProxyAccess::None,
    )
}

fn evaluator(profile: &Profile) -> Evaluator {
    let parameters: Vec<(&str, &str)> = profile
        .parameters()
        .iter()
        .map(|parameter| (parameter.name(), parameter.path()))
        .collect();
    Evaluator::new(&profile.to_string(), &parameters)
}
