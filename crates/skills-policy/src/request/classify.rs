//! Permissions for paths that take a permission of their own: protected ones, and those with keys.
//! The basis of requests of the caller and of the first line of a script.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::allowed_tool::AllowedTool;
use super::{Basis, Request};
use crate::key_paths::key_path;
use crate::requester::FIRST_LINE_NAME;
use crate::{Capability, Permission, innermost_protected_name};

impl Request {
    /// Converts writing at or below a protected path to [`Permission::WriteProtected`], and reading
    /// at or below a path that may hold keys to [`Permission::ReadKeys`]. Components of the
    /// workspace itself are exempt; other paths are checked as a whole.
    pub(crate) fn classify(&self, permission: Permission) -> Permission {
        match permission {
            Permission::Read(path) => match key_path(&path, self.exempt_base(&path)) {
                Some(keys) => Permission::ReadKeys { path, keys },
                None => Permission::Read(path),
            },
            Permission::Write(path) => {
                let base = self.exempt_base(&path);
                // Writing includes reading, so a path with keys takes a rule for itself, too.
                let protected = innermost_protected(&path, base, &self.protected)
                    .or_else(|| key_path(&path, base));
                match protected {
                    Some(protected) => Permission::WriteProtected { path, protected },
                    None => Permission::Write(path),
                }
            }
            // The caller may know only the file, such as the target of a symlink.
            Permission::ReadKeys { path, .. } => {
                let keys = key_path(&path, self.exempt_base(&path)).unwrap_or_else(|| path.clone());
                Permission::ReadKeys { path, keys }
            }
            permission => permission,
        }
    }

    /// Returns the basis of a request of the caller: declared if a tool without a pattern stands
    /// for the capability, and in excess of the declaration if the skill has tools and none does.
    pub(super) fn basis_for(&self, capability: Capability) -> Basis {
        let is_for_capability =
            |tool: &&AllowedTool| Capability::from_tool_name(&tool.name) == Some(capability);
        let declares_nothing =
            self.tools.is_empty() || self.tools.iter().any(|tool| tool.name == "*");
        match self.tools.iter().find(is_for_capability) {
            // Patterns of files are relative to the workspace and say nothing about other paths;
            // patterns of programs and hosts name all that the skill needs.
            Some(_)
                if self
                    .tools
                    .iter()
                    .filter(is_for_capability)
                    .all(|tool| tool.pattern.is_some()) =>
            {
                match capability {
                    Capability::Spawn | Capability::Network => Basis::ExceedsDeclaration,
                    _ => Basis::Undeclared,
                }
            }
            Some(_) => Basis::Declared,
            // A skill without tools says nothing about its needs, which restricts no caller.
            None if declares_nothing => Basis::Undeclared,
            None => Basis::ExceedsDeclaration,
        }
    }

    /// Requests to spawn the program that the first line of the script names, by its name without a
    /// path. Not even trusted mode grants it without a rule or an answer, and `allowed-tools` without
    /// it do not exclude it: the skill chose it, not the caller.
    pub fn interpreter(mut self, program: impl Into<String>) -> Self {
        self.interpreter = Some(program.into());
        self
    }

    /// Returns the request of the first line of the script.
    pub(super) fn request_of_first_line(
        &self,
    ) -> impl Iterator<Item = (Permission, &'static str, Basis)> {
        self.interpreter.iter().map(|name| {
            let permission = Permission::Program(name.clone());
            (permission, FIRST_LINE_NAME, Basis::Undeclared)
        })
    }

    /// Returns the path at or above `path` that is not examined for names of protected paths: the
    /// workspace, which can be inside a protected directory, such as a worktree below `.claude`.
    fn exempt_base(&self, path: &Path) -> &Path {
        self.workspace
            .as_deref()
            .filter(|workspace| path.starts_with(workspace))
            .unwrap_or(Path::new(""))
    }
}

/// Returns the innermost path at or above `path` and strictly below `base` that is protected, by
/// its name or as one of `paths`.
pub(crate) fn innermost_protected(
    path: &Path,
    base: &Path,
    paths: &BTreeSet<PathBuf>,
) -> Option<PathBuf> {
    let is_below = |protected: &&PathBuf| {
        path.starts_with(protected) && *protected != base && protected.starts_with(base)
    };
    innermost_protected_name(path, base)
        .into_iter()
        .chain(paths.iter().filter(is_below).cloned())
        .max_by_key(|path| path.components().count())
}
