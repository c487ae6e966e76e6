//! Grants of optional directories, without approval requests.

use std::path::Path;

use skills_manifest::ToolPattern;
use skills_policy::{Access, Authorization, Capability, Decision, Permission, Request};

use crate::SkillRuntime;
use crate::run_plan::RunPlan;

impl SkillRuntime {
    /// Requests the [optional mounts](crate::ExecutionOptions::optional_mounts) that rules and
    /// stored approvals grant without a prompt. The others are not requested, so they cause no
    /// prompt and no failure.
    pub(crate) fn with_optional_mounts(
        &self,
        mut planned: RunPlan,
        digest: Option<&str>,
    ) -> RunPlan {
        for (path, access) in &planned.options.optional_mounts {
            let attempts: &[Access] = if *access == Access::ReadWrite {
                &[Access::ReadWrite, Access::ReadOnly]
            } else {
                &[Access::ReadOnly]
            };
            let with_digest = |request: &Request| match digest {
                Some(digest) => request.clone().content_digest(digest),
                None => request.clone(),
            };
            let wanted = attempts
                .iter()
                .filter(|access| planned.wants_any_directory(**access));
            let wider = wanted.map(|access| with_access(&planned.request, path, *access));
            let wider =
                wider.map(|(request, permission)| (self.with_protected_paths(request), permission));
            let granted = wider.into_iter().find(|(wide, permission)| {
                self.is_granted_without_approval(
                    &with_digest(&planned.request),
                    &with_digest(wide),
                    permission,
                )
            });
            if let Some((wide, _)) = granted {
                planned.request = wide;
            }
        }
        planned
    }

    /// Returns true if a permission is granted without approval and does not make others need one.
    fn is_granted_without_approval(
        &self,
        narrow: &Request,
        wide: &Request,
        wanted: &Permission,
    ) -> bool {
        let decision = self.shared.permissions.preview(wide);
        // A protected path has a different permission.
        let is_wanted = |permission: &Permission| {
            (permission.capability(), permission.path()) == (wanted.capability(), wanted.path())
        };
        let is_granted = decision.decisions().iter().any(|verdict| {
            is_wanted(verdict.permission()) && verdict.decision() == Decision::Allow
        });
        let is_fully_granted = matches!(decision, Authorization::Granted(_));
        is_granted
            && (is_fully_granted
                || !matches!(
                    self.shared.permissions.preview(narrow),
                    Authorization::Granted(_)
                ))
    }
}

impl RunPlan {
    /// Returns true if the skill requests access to any directory: it has no `allowed-tools`, or a
    /// tool without a pattern. A pattern limits access to parts.
    fn wants_any_directory(&self, access: Access) -> bool {
        let Some(skill) = self.target.skill() else {
            return true;
        };
        let tools = skill.manifest.allowed_tools();
        let capability = if access == Access::ReadWrite {
            Capability::Write
        } else {
            Capability::Read
        };
        let is_wide = |tool: &ToolPattern| {
            tool.tool() == "*"
                || Capability::from_tool_name(tool.tool()) == Some(capability)
                    && tool.pattern().is_none()
        };
        tools.is_empty() || tools.iter().any(is_wide)
    }
}

fn with_access(request: &Request, path: &Path, access: Access) -> (Request, Permission) {
    match access {
        Access::ReadWrite => (
            request.clone().write(path),
            Permission::Write(path.to_owned()),
        ),
        Access::ReadOnly => (
            request.clone().read(path),
            Permission::Read(path.to_owned()),
        ),
    }
}
