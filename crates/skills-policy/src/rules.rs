//! The rules and how they are applied.

use std::collections::BTreeSet;
use std::path::Path;

use crate::path::{is_plain, is_program};
use crate::request::{Claim, Wanted};
use crate::target::Kind;
use crate::{
    Capability, Decision, Denial, Effect, Fate, Grants, HostPattern, Layer, Limits, Permission, Reason, Request, Rule, Target, Verdict,
    changes_execution, is_variable_name,
};

/// What may be granted.
///
/// Defaults: reading is allowed, everything else is asked for ([`Mode::Ask`]), up to [`Limits::ceiling`], and content that nobody approved is asked
/// for when a standing rule would give it power ([`NewContent::AskWithPower`]).
///
/// The order in which rules are added decides nothing. A deny beats an ask and an ask beats an allow, wherever they stand, with one exception: what
/// the [session](Layer::Session) allows answers what anybody but the [administrator](Layer::Admin) wants asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Rules {
    rules: Vec<Rule>,
    mode: Mode,
    new_content: NewContent,
    is_project_trusted: bool,
    ceiling: Limits,
}

/// What happens to things that no rule decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They are denied, and nobody is asked anything: rules and stored approvals decide alone.
    Strict,
    /// Somebody is asked; without an answer they are denied.
    #[default]
    Ask,
    /// What a skill declares is granted. What rules forbid or want asked still is, and so is what the skill does not declare.
    Trusted,
}

/// What happens to content that was never approved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewContent {
    /// Somebody is asked before its first run, whatever it wants.
    Ask,
    /// Somebody is asked when a rule that was written before would give it more than every program gets. With the default grants alone it runs:
    /// that is what the OpenSkills flow does with skills of low risk.
    #[default]
    AskWithPower,
    /// It is treated like any other.
    Allow,
}

/// What the rules say, before anybody was asked.
#[derive(Debug)]
pub(crate) struct Ruling {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) denied_hosts: BTreeSet<HostPattern>,
}

impl Default for Rules {
    fn default() -> Self {
        let reading = Rule::new(Effect::Allow, Layer::BuiltIn, Capability::Read);
        Self {
            rules: vec![reading],
            mode: Mode::default(),
            new_content: NewContent::default(),
            is_project_trusted: false,
            ceiling: Limits::ceiling(),
        }
    }
}

impl Rules {
    /// Adds a rule.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds rules.
    pub fn with_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Allows something.
    pub fn allow(self, layer: Layer, target: impl Into<Target>) -> Self {
        self.rule(Rule::new(Effect::Allow, layer, target))
    }

    /// Forbids something, whatever else allows it.
    pub fn deny(self, layer: Layer, target: impl Into<Target>) -> Self {
        self.rule(Rule::new(Effect::Deny, layer, target))
    }

    /// Says what happens to things that no rule decides.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Says what happens to content that was never approved.
    pub fn new_content(mut self, new_content: NewContent) -> Self {
        self.new_content = new_content;
        self
    }

    /// Lets the rules of the project allow as well; otherwise they only narrow.
    pub fn trust_project(mut self) -> Self {
        self.is_project_trusted = true;
        self
    }

    /// Sets the most that any run may use.
    pub fn ceiling(mut self, limits: Limits) -> Self {
        self.ceiling = limits;
        self
    }

    /// Lowers the most that any run may use; it never rises.
    pub fn narrow(mut self, limits: &Limits) -> Self {
        self.ceiling = self.ceiling.narrowed_by(limits);
        self
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns what happens to things that no rule decides.
    #[must_use]
    pub fn undecided(&self) -> Mode {
        self.mode
    }

    pub(crate) fn limits(&self, request: &Request) -> Limits {
        request.limits.narrowed_by(&self.ceiling)
    }

    /// Returns what happens to content that was never approved.
    #[must_use]
    pub fn unapproved(&self) -> NewContent {
        self.new_content
    }

    /// Returns the most that any run may use.
    pub fn most(&self) -> &Limits {
        &self.ceiling
    }

    /// Decides by the rules alone: what would have to be asked for is denied.
    pub fn decide(&self, request: &Request) -> Decision {
        let mut ruling = self.examine(request);
        let reason = self.silence();
        for verdict in ruling.verdicts.iter_mut().filter(|verdict| verdict.fate == Fate::Open) {
            verdict.settle(Fate::Denied, reason.clone());
        }
        self.conclude(request, ruling)
    }

    /// Why something open is denied when nobody is asked.
    pub(crate) fn silence(&self) -> Reason {
        if self.mode == Mode::Strict { Reason::Strict } else { Reason::NobodyAsked }
    }

    /// Turns a ruling in which nothing is open into a decision.
    pub(crate) fn conclude(&self, request: &Request, ruling: Ruling) -> Decision {
        if ruling.verdicts.iter().all(|verdict| verdict.fate == Fate::Granted) {
            return Decision::Granted(Grants::of(request, ruling, &self.ceiling));
        }
        Decision::Denied(Denial { verdicts: ruling.verdicts, content: None, notes: Vec::new() })
    }

    /// Says what the rules say of each thing.
    pub(crate) fn examine(&self, request: &Request) -> Ruling {
        let about = || self.rules.iter().filter(|rule| rule.is_about(&request.directory));
        let hosts = |effect: Effect| {
            let hosts = about().filter(move |rule| rule.effect == effect && (effect == Effect::Deny || self.may_allow(rule)));
            hosts.filter_map(|rule| if let Kind::Host(pattern) = &rule.target.0 { Some(pattern.clone()) } else { None }).collect()
        };
        let (listed_hosts, denied_hosts): (BTreeSet<HostPattern>, BTreeSet<HostPattern>) = (hosts(Effect::Allow), hosts(Effect::Deny));
        let wanted = in_full(request.wanted(), &listed_hosts);
        let verdicts = wanted.into_iter().map(|wanted| self.verdict(request, wanted)).collect();
        Ruling { verdicts, denied_hosts }
    }

    fn verdict(&self, request: &Request, wanted: Wanted) -> Verdict {
        let (fate, reason) = self.judge(request, &wanted);
        let wants_asked = match (&fate, &reason) {
            (Fate::Open, Reason::Rule { layer, text }) => Some((*layer, text.clone())),
            _ => None,
        };
        Verdict { permission: wanted.permission, asked_by: wanted.asked_by, fate, reason, wants_asked }
    }

    fn judge(&self, request: &Request, wanted: &Wanted) -> (Fate, Reason) {
        let permission = &wanted.permission;
        if let Some(because) = never(request, wanted) {
            return (Fate::Denied, Reason::Never { because });
        }
        let Found { deny, admin_ask, ask, session, allow } = self.find(&request.directory, permission);
        if let Some(rule) = deny {
            return (Fate::Denied, by(rule));
        }
        match (ask, session, allow) {
            _ if admin_ask.is_some() => (Fate::Open, admin_ask.map_or(Reason::NoRule, by)),
            (Some(_), Some(session), _) => (Fate::Granted, by(session)),
            (Some(ask), None, _) => (Fate::Open, by(ask)),
            // Whoever started this run knows what is there now; other rules were written before.
            (None, Some(rule), _) | (None, None, Some(rule)) => (Fate::Granted, by(rule)),
            (None, None, None) if wanted.claim == Claim::Given => (Fate::Granted, Reason::Caller),
            (None, None, None)
                if self.mode == Mode::Trusted
                    && wanted.claim == Claim::Declared
                    && !matches!(permission, Permission::WriteProtected { .. }) =>
            {
                (Fate::Granted, Reason::Trusted)
            }
            (None, None, None) => (Fate::Open, Reason::NoRule),
        }
    }

    /// Finds, in one pass, the rules that decide on something; of several the one of the most general layer is named, the first of
    /// these.
    fn find(&self, directory: &Path, permission: &Permission) -> Found<'_> {
        let mut found = Found::default();
        for rule in self.rules.iter().filter(|rule| rule.is_about(directory)) {
            match rule.effect {
                Effect::Deny if rule.target.forbids(permission) => more_general(&mut found.deny, rule),
                Effect::Ask if rule.target.concerns(permission) => {
                    more_general(&mut found.ask, rule);
                    if rule.layer == Layer::Admin {
                        more_general(&mut found.admin_ask, rule);
                    }
                }
                Effect::Allow if rule.target.allows(permission) && self.may_allow(rule) => {
                    more_general(&mut found.allow, rule);
                    if rule.layer == Layer::Session {
                        more_general(&mut found.session, rule);
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn may_allow(&self, rule: &Rule) -> bool {
        rule.layer != Layer::Project || self.is_project_trusted
    }
}

/// The rules that decide on something.
#[derive(Default)]
struct Found<'a> {
    deny: Option<&'a Rule>,
    /// An ask of the administrator.
    admin_ask: Option<&'a Rule>,
    ask: Option<&'a Rule>,
    /// An allow of the session.
    session: Option<&'a Rule>,
    allow: Option<&'a Rule>,
}

fn more_general<'a>(known: &mut Option<&'a Rule>, rule: &'a Rule) {
    if known.is_none_or(|known| rule.layer < known.layer) {
        *known = Some(rule);
    }
}

/// Why something is never granted.
fn never(request: &Request, wanted: &Wanted) -> Option<&'static str> {
    let directory = request.is_home.then_some(&request.directory);
    match &wanted.permission {
        Permission::Unreadable(..) => Some("nobody knows what that means"),
        // Rules compare paths part by part.
        Permission::Read(path) | Permission::Write(path) | Permission::WriteProtected { path, .. }
            if request.hidden.iter().any(|hidden| path.starts_with(hidden)) =>
        {
            Some("it is a directory of this host for its own state, which no program sees")
        }
        Permission::Read(path) | Permission::Write(path) | Permission::WriteProtected { path, .. } if !is_plain(path) => {
            Some("the path is relative, no text, or has `..` in it")
        }
        // A program could change its own instructions.
        Permission::Write(path) | Permission::WriteProtected { path, .. }
            if directory.is_some_and(|directory| path.starts_with(directory) || directory.starts_with(path)) =>
        {
            Some("the program itself lies there, and must stay as it is")
        }
        Permission::Program(name) if !is_program(name) => Some("that is no name of a program"),
        Permission::Variable(name) if !is_variable_name(name) => Some("that is no name of a variable"),
        Permission::Variable(name) if changes_execution(name) => Some("such a variable decides what runs or whom it talks to"),
        _ if wanted.claim == Claim::Beyond => Some("`allowed-tools` names what the skill needs, and not this"),
        _ => None,
    }
}

/// Replaces a request for listed hosts by each host that rules list, or by all hosts if there are none, so that an approval cannot mean more later. A host
/// that is requested by name as well appears once.
fn in_full(wanted: Vec<Wanted>, listed: &BTreeSet<HostPattern>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let permissions = match &wanted.permission {
            Permission::ListedHosts if listed.is_empty() => vec![Permission::Host(HostPattern::ANY)],
            Permission::ListedHosts => listed.iter().cloned().map(Permission::Host).collect(),
            permission => vec![permission.clone()],
        };
        for permission in permissions {
            match all.iter_mut().find(|known| known.permission == permission) {
                Some(known) => wanted.asked_by.iter().for_each(|by| known.add(by.clone(), wanted.claim)),
                None => all.push(Wanted { permission, ..wanted.clone() }),
            }
        }
    }
    all
}

fn by(rule: &Rule) -> Reason {
    Reason::Rule { layer: rule.layer, text: rule.to_string() }
}
