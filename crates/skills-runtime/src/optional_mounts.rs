//! What a program gets besides, where nobody has to be asked.

use std::path::Path;

use skills_manifest::ToolPattern;
use skills_policy::{Access, Authorization, Capability, Decision, Permission, Request};

use crate::SkillRuntime;
use crate::run_plan::RunPlan;

impl SkillRuntime {
    /// Asks for what is [offered](crate::ExecutionOptions::optional_mounts) as far as rules and
    /// approvals give it by themselves; the rest is not asked for, so that nobody is asked, and
    /// nothing fails, because of what the caller would only like.
    pub(crate) fn with_optional_mounts(
        &self,
        mut planned: RunPlan,
        digest: Option<&str>,
    ) -> RunPlan {
        for (path, access) in &planned.options.optional_mounts {
            let tries: &[Access] = if *access == Access::ReadWrite {
                &[Access::ReadWrite, Access::ReadOnly]
            } else {
                &[Access::ReadOnly]
            };
            let with = |request: &Request| match digest {
                Some(digest) => request.clone().content_digest(digest),
                None => request.clone(),
            };
            let wanted = tries
                .iter()
                .filter(|access| planned.wants_any_directory(**access));
            let wider = wanted.map(|access| with_access(&planned.request, path, *access));
            let wider = wider.map(|(request, wish)| (self.with_protected_paths(request), wish));
            let given = wider.into_iter().find(|(wide, wish)| {
                self.is_granted_without_approval(&with(&planned.request), &with(wide), wish)
            });
            if let Some((wide, _)) = given {
                planned.request = wide;
            }
        }
        planned
    }

    /// Says whether a wish is granted by itself and makes nothing else a question.
    fn is_granted_without_approval(
        &self,
        narrow: &Request,
        wide: &Request,
        wish: &Permission,
    ) -> bool {
        let decision = self.shared.permissions.preview(wide);
        // A path that is protected is wished for by another permission.
        let is_wish = |permission: &Permission| {
            (permission.capability(), permission.path()) == (wish.capability(), wish.path())
        };
        let is_given = decision
            .decisions()
            .iter()
            .any(|verdict| is_wish(verdict.permission()) && verdict.decision() == Decision::Allow);
        let is_free = matches!(decision, Authorization::Granted(_));
        is_given
            && (is_free
                || !matches!(
                    self.shared.permissions.preview(narrow),
                    Authorization::Granted(_)
                ))
    }
}

impl RunPlan {
    /// Says whether the skill wants what it may have of any directory: it names nothing, or a tool
    /// without a pattern. A pattern is about parts.
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
