//! Setups of packages: what they may use, and their permissions.

use std::sync::Arc;

use skills_deps::{SetupContext, SetupPhase};
use skills_library::find_tool;
use skills_policy::{Authorization, Effect, Policy, Request, Rule, RuleSource};
use skills_sandbox::ScriptType;

use super::declared::DeclaringRun;
use crate::call_context::CallContext;
use crate::error::RuntimeError;
use crate::request::with_protected_paths;

impl DeclaringRun<'_> {
    /// Asks the image of a run for its packages, once for each image, if packages seem to be missing.
    /// An image without Python has none.
    pub(crate) async fn ask_image(&self) {
        let Some(image) = self.planned.image() else {
            return;
        };
        let store = &self.config.store;
        if store.python_of_image(image).is_some() || self.missing().is_none() {
            return;
        }
        if let Ok(context) = self.setup_context(&self.planned.options().context) {
            // The run itself then says why the interpreter cannot be started.
            let _ = store.ask_image(image, &context).await;
        }
    }

    /// Returns what the setup for a run may use.
    pub(crate) fn setup_context(&self, call: &CallContext) -> Result<SetupContext, RuntimeError> {
        let (planned, config) = (self.planned, self.config);
        let services = planned.services().clone();
        let backends = &services.config().backends;
        let choice = planned.options().sandbox;
        let sandbox = Arc::clone(backends.for_run(planned.name(), planned.mode(), choice)?);
        // An image has the package managers that it has.
        let uv = find_tool(&services.finder(planned.name()), "uv")
            .filter(|_| planned.uses_programs_of_host());
        let policy = services.permissions().policy().clone();
        let progress = call.progress.clone();
        Ok(SetupContext {
            sandbox,
            authorize: Arc::new(move |request| {
                authorize_setup(&policy, &with_protected_paths(&services, request.clone()))
            }),
            python: planned.interpreter(ScriptType::Python),
            uv,
            python_index: config.python_index.clone(),
            npm_registry: config.npm_registry.clone(),
            file_hosts: config.file_hosts.clone(),
            described: Vec::new(),
            allows_builds: config.allows_builds,
            timeout: config.timeout,
            cancellation: call.cancellation.clone(),
            progress: progress.map(|progress| -> skills_deps::Progress {
                Arc::new(move |phase| match phase {
                    SetupPhase::Ended => progress(None),
                    _ => progress(Some(&phase.to_string())),
                })
            }),
        })
    }
}

/// Grants what a setup requests, as an option of the invocation would: `deny` rules and `ask` rules of
/// the administrator still apply.
fn authorize_setup(policy: &Policy, request: &Request) -> Result<skills_policy::Grants, String> {
    let permissions = request.permissions();
    let targets = permissions
        .iter()
        .filter_map(|permission| permission.rule_target());
    let rules = targets.map(|target| {
        Rule::new(Effect::Allow, RuleSource::Invocation, target).origin("package setup")
    });
    match policy.clone().with_rules(rules).authorize(request) {
        Authorization::Granted(grants) => Ok(grants),
        Authorization::Denied(denial) => {
            let denied = denial
                .denied()
                .map(|decision| format!("{}: {}", decision.permission(), decision.reason()));
            Err(denied.collect::<Vec<_>>().join("; "))
        }
    }
}
