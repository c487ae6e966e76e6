//! A host with skills and a workspace in a temporary directory.

use std::fs;
use std::ops::Deref;

use skills_mcp::Server;
use skills_test_support::SkillTree;
use skills_tools::runtime::audit::AuditLog;
use skills_tools::runtime::policy::{Effect, Rule, RuleSource};
use skills_tools::runtime::{FileApprovalStore, Policy, Root, Scope, SkillRuntime};
use skills_tools::{Mount, ToolGroup, ToolSet};

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

    /// Builds the tools with `allow` rules of the invocation.
    pub(crate) fn tools(&self, allowed: &[&str]) -> ToolSet {
        self.tools_with(allowed, ToolGroup::ALL)
    }

    /// Builds the tools of these groups with `allow` rules of the invocation.
    pub(crate) fn tools_with(
        &self,
        allowed: &[&str],
        groups: impl IntoIterator<Item = ToolGroup>,
    ) -> ToolSet {
        let allow = |rules: Policy, text: &&str| {
            rules.rule(Rule::parse(Effect::Allow, RuleSource::Invocation, text).unwrap())
        };
        let runtime = SkillRuntime::builder()
            .root(Root::new(self.path("skills"), Scope::Custom))
            .scratch_directory(self.path("scratch"))
            .audit(std::sync::Arc::new(self.audit_log()))
            .approval_store(std::sync::Arc::new(FileApprovalStore::new(
                self.path("approvals.json"),
            )))
            .policy(allowed.iter().fold(Policy::default(), allow));
        ToolSet::builder(runtime.build())
            .tool_groups(groups)
            .workspace(Mount::writable("workspace", self.path("workspace")))
            .build()
            .unwrap()
    }

    pub(crate) fn audit_log(&self) -> AuditLog {
        AuditLog::open(self.path("audit.jsonl")).unwrap()
    }

    pub(crate) fn server(&self, allowed: &[&str]) -> Server {
        Server::builder(self.tools(allowed)).build().unwrap()
    }
}
