//! The directories that the roots of a client are relative to.

use std::path::{Path, PathBuf};

use skills_clients::{Root as ClientRoot, RootBase, RootScope};

use super::{ClientProfile, ProfileContext};
use crate::Scope;

/// Returns the roots of a client, in the order in which it scans them.
pub(super) fn for_profile(profile: ClientProfile) -> Vec<ClientRoot> {
    if profile == ClientProfile::Universal {
        return skills_clients::universal_roots().collect();
    }
    let mut clients = skills_clients::CLIENTS.iter();
    let client = clients.find(|client| client.id == profile.as_str());
    client.map_or(Vec::new(), |client| client.scanned.to_vec())
}

/// Returns the scope of a root, in the terms of this crate.
pub(super) fn scope(root: &ClientRoot) -> Scope {
    match root.scope {
        RootScope::User => Scope::User,
        RootScope::System => Scope::System,
        RootScope::Admin => Scope::Admin,
        // Files of a project may be by strangers, so an unknown scope is treated as one.
        _ => Scope::Repo,
    }
}

/// Returns the directories that the base of a root stands for, in the order in which they are
/// scanned.
pub(super) fn base_directories(root: &ClientRoot, context: &ProfileContext) -> Vec<PathBuf> {
    let home = context.home.as_deref();
    match root.base {
        RootBase::ProjectUpwards => projects(context).rev().cloned().collect(),
        RootBase::ProjectDownwards => projects(context).cloned().collect(),
        // Filtered as the others: the working directory may be the home directory.
        RootBase::Working => projects(context)
            .filter(|directory| Some(*directory) == context.project_directories.last())
            .cloned()
            .collect(),
        RootBase::Home => context.home.iter().cloned().collect(),
        RootBase::Codex => set_or_below_home(&context.codex_home, home, ".codex"),
        RootBase::Claude => set_or_below_home(&context.claude_config, home, ".claude"),
        RootBase::XdgConfig => set_or_below_home(&context.xdg_config_home, home, ".config"),
        RootBase::OpenClaw => set_or_below_home(&context.openclaw_state, home, ".openclaw"),
        RootBase::Copilot => context.copilot_directories.clone(),
        RootBase::FileSystemRoot => vec![PathBuf::from("/")],
        // Roots of plugins are complete; `ClientProfile::roots` adds them.
        _ => Vec::new(),
    }
}

/// Returns the directories of the project, from its root down.
fn projects(context: &ProfileContext) -> impl DoubleEndedIterator<Item = &PathBuf> {
    // The home directory may be a project, for example if dotfiles are under version control. Its
    // skills are those of the user, and must not become untrusted skills of a project.
    context
        .project_directories
        .iter()
        .filter(|directory| context.home.as_ref() != Some(directory))
}

/// Returns the value of a variable, or else the default directory in the home directory.
fn set_or_below_home(
    variable: &Option<PathBuf>,
    home: Option<&Path>,
    default: &str,
) -> Vec<PathBuf> {
    let below_home = || home.map(|home| home.join(default));
    variable.clone().or_else(below_home).into_iter().collect()
}
