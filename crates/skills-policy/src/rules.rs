//! The rules and the one function that decides.

use std::collections::BTreeSet;

use crate::request::Asked;
use crate::{Access, Capability, Decision, Denial, FileGrant, Grants, Limits, Network, Refusal, Request, Spawn};

/// What may be granted. The default allows [`Capability::Read`] and nothing else, up to [`Limits::ceiling`].
///
/// The order of rules does not matter: a deny rule wins over every allow rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Rules {
    rules: Vec<Rule>,
    hosts: BTreeSet<String>,
    ceiling: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    effect: Effect,
    capability: Capability,
    source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Allow,
    Deny,
}

impl Default for Rules {
    fn default() -> Self {
        Self { rules: Vec::new(), hosts: BTreeSet::new(), ceiling: Limits::ceiling() }.allow(Capability::Read, "built-in")
    }
}

impl Rules {
    /// Allows a capability; `source` says whose rule it is, for the answers.
    pub fn allow(self, capability: Capability, source: &str) -> Self {
        self.rule(Effect::Allow, capability, source)
    }

    /// Forbids a capability, whatever else allows it.
    pub fn deny(self, capability: Capability, source: &str) -> Self {
        self.rule(Effect::Deny, capability, source)
    }

    /// Names hosts that [`Capability::Network`] may reach. Without any, allowing the network allows nothing.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Sets the most that any run may use.
    pub fn ceiling(mut self, limits: Limits) -> Self {
        self.ceiling = limits;
        self
    }

    fn rule(mut self, effect: Effect, capability: Capability, source: &str) -> Self {
        self.rules.push(Rule { effect, capability, source: source.to_owned() });
        self
    }

    /// Decides on a request: all of it or nothing.
    pub fn decide(&self, request: &Request) -> Decision {
        let refusals: Vec<Refusal> = request.capabilities().into_iter().filter_map(|capability| self.refuse(request, capability)).collect();
        if refusals.is_empty() { Decision::Granted(self.grant(request)) } else { Decision::Denied(Denial { refusals }) }
    }

    fn refuse(&self, request: &Request, capability: Capability) -> Option<Refusal> {
        let of = |effect| self.rules.iter().find(move |rule| rule.capability == capability && rule.effect == effect);
        let holds_program = request.workspace_directory().is_some_and(|workspace| request.directory().starts_with(workspace));
        let rule = match (of(Effect::Deny), of(Effect::Allow)) {
            _ if capability == Capability::Write && holds_program => {
                Some("built-in (the workspace holds the program itself, which must stay read-only)".to_owned())
            }
            (Some(rule), _) => Some(rule.source.clone()),
            (None, Some(_)) if capability != Capability::Network || self.reaches(request) => return None,
            _ => None,
        };
        let asked_by = asked(request, capability).map(Asked::text).collect();
        Some(Refusal { capability, asked_by, rule })
    }

    /// Says whether every network tool asks for listed hosts only; one that names no host takes the whole list.
    fn reaches(&self, request: &Request) -> bool {
        !self.hosts.is_empty() && asked(request, Capability::Network).all(|asked| asked.host().is_none_or(|host| self.hosts.contains(host)))
    }

    fn grant(&self, request: &Request) -> Grants {
        let capabilities = request.capabilities();
        let mut files = vec![FileGrant { path: request.directory().to_owned(), guest: "/skill", access: Access::ReadOnly }];
        let access = match (capabilities.contains(&Capability::Write), capabilities.contains(&Capability::Read)) {
            (true, _) => Some(Access::ReadWrite),
            (false, true) => Some(Access::ReadOnly),
            (false, false) => None,
        };
        if let (Some(path), Some(access)) = (request.workspace_directory(), access) {
            files.push(FileGrant { path: path.to_owned(), guest: "/workspace", access });
        }
        Grants { files, network: self.network(request), spawn: spawn(request), limits: request.wanted_limits().narrowed_by(&self.ceiling) }
    }

    fn network(&self, request: &Request) -> Network {
        let mut hosts = BTreeSet::new();
        for tool in asked(request, Capability::Network) {
            match tool.host() {
                Some(host) => {
                    hosts.insert(host.to_owned());
                }
                None => hosts.extend(self.hosts.iter().cloned()),
            }
        }
        if hosts.is_empty() { Network::None } else { Network::Hosts(hosts) }
    }
}

fn spawn(request: &Request) -> Spawn {
    let mut programs = BTreeSet::new();
    for tool in asked(request, Capability::Spawn) {
        let Some(program) = tool.program() else { return Spawn::Any };
        programs.insert(program.to_owned());
    }
    if programs.is_empty() { Spawn::None } else { Spawn::Programs(programs) }
}

fn asked(request: &Request, capability: Capability) -> impl Iterator<Item = &Asked> {
    request.asked().filter(move |asked| asked.capability == capability)
}
