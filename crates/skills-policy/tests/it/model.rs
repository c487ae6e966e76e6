//! A second decision procedure for the properties, over a universe that is small enough to
//! enumerate.
//!
//! A rule, and a requested permission, is the set of acts that it covers. Whether a rule matches is
//! a comparison of two sets, so no path is compared, no pattern is parsed, and no code of the
//! product takes part in the expected result.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use skills_policy::{
    ApprovalMode, Effect, Grants, NetworkGrant, Policy, Request, ResourceLimits, Rule, RuleSource,
    Target, VariableSource,
};

/// Something that a program can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    Read(&'static str),
    Write(&'static str),
    Reach(&'static str),
    Start(&'static str),
    See(&'static str),
}

use Act::{Reach, Read, See, Start, Write};

/// All that any program could do.
pub(crate) const UNIVERSE: &[Act] = &[
    Read("/w/a"),
    Read("/w/sub/b"),
    Read("/x/c"),
    Read("/x/d"),
    Write("/w/a"),
    Write("/w/sub/b"),
    Write("/x/c"),
    Write("/x/d"),
    Reach("a.example"),
    Reach("b.example"),
    Reach("c.test"),
    Start("git"),
    Start("rm"),
    Start("sort"),
    See("KEY"),
    See("AWS_ID"),
    See("PATH"),
];

/// Each target of a rule, and the acts that it covers.
const TARGETS: &[(&str, &[Act])] = &[
    (
        "read",
        &[Read("/w/a"), Read("/w/sub/b"), Read("/x/c"), Read("/x/d")],
    ),
    ("read:/w", &[Read("/w/a"), Read("/w/sub/b")]),
    ("read:/w/sub", &[Read("/w/sub/b")]),
    ("read:/x/c", &[Read("/x/c")]),
    (
        "write",
        &[
            Write("/w/a"),
            Write("/w/sub/b"),
            Write("/x/c"),
            Write("/x/d"),
        ],
    ),
    ("write:/w", &[Write("/w/a"), Write("/w/sub/b")]),
    ("write:/w/sub", &[Write("/w/sub/b")]),
    ("write:/x/c", &[Write("/x/c")]),
    (
        "network",
        &[Reach("a.example"), Reach("b.example"), Reach("c.test")],
    ),
    (
        "network:*",
        &[Reach("a.example"), Reach("b.example"), Reach("c.test")],
    ),
    (
        "network:*.example",
        &[Reach("a.example"), Reach("b.example")],
    ),
    ("network:a.example", &[Reach("a.example")]),
    ("spawn", &[Start("git"), Start("rm"), Start("sort")]),
    ("spawn:git", &[Start("git")]),
    ("spawn:rm", &[Start("rm")]),
    ("env", &[See("KEY"), See("AWS_ID"), See("PATH")]),
    ("env:*", &[See("KEY"), See("AWS_ID"), See("PATH")]),
    ("env:AWS_*", &[See("AWS_ID")]),
    ("env:KEY", &[See("KEY")]),
];

const WORKSPACE_READS: [Act; 2] = [Read("/w/a"), Read("/w/sub/b")];
const WORKSPACE_WRITES: [Act; 2] = [Write("/w/a"), Write("/w/sub/b")];

/// A part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Tool(&'static str, Option<&'static str>),
    Read(&'static str),
    Write(&'static str),
    Start(&'static str),
    StartAny,
    Reach(&'static str),
    Variable(&'static str, VariableSource),
}

/// Each entry of a request, the text of its permission, and the acts that the permission covers.
const ENTRIES: &[(Entry, &str, &[Act])] = &[
    (
        Entry::Tool("Read", None),
        "read `/w`",
        &[Read("/w/a"), Read("/w/sub/b")],
    ),
    (
        Entry::Tool("Grep", Some("sub/**")),
        "read `/w/sub`",
        &[Read("/w/sub/b")],
    ),
    (
        Entry::Tool("Write", None),
        "write `/w`",
        &[Write("/w/a"), Write("/w/sub/b")],
    ),
    (
        Entry::Tool("Edit", Some("sub/*")),
        "write `/w/sub`",
        &[Write("/w/sub/b")],
    ),
    (
        Entry::Tool("WebFetch", Some("domain:a.example")),
        "connect to `a.example`",
        &[Reach("a.example")],
    ),
    (
        Entry::Tool("WebFetch", Some("domain:*.example")),
        "connect to `*.example`",
        &[Reach("a.example"), Reach("b.example")],
    ),
    // Stands for the hosts that rules list.
    (
        Entry::Tool("WebSearch", None),
        "connect to any host",
        &[Reach("a.example"), Reach("b.example"), Reach("c.test")],
    ),
    (
        Entry::Tool("Bash", None),
        "spawn any program",
        &[Start("git"), Start("rm"), Start("sort")],
    ),
    (
        Entry::Tool("Bash", Some("git:*")),
        "spawn `git`",
        &[Start("git")],
    ),
    (
        Entry::Tool("Terminal", Some("rm *")),
        "spawn `rm`",
        &[Start("rm")],
    ),
    (Entry::Read("/w/sub"), "read `/w/sub`", &[Read("/w/sub/b")]),
    (
        Entry::Read("/x"),
        "read `/x`",
        &[Read("/x/c"), Read("/x/d")],
    ),
    (
        Entry::Write("/w"),
        "write `/w`",
        &[Write("/w/a"), Write("/w/sub/b")],
    ),
    (
        Entry::Write("/x"),
        "write `/x`",
        &[Write("/x/c"), Write("/x/d")],
    ),
    (
        Entry::Reach("a.example"),
        "connect to `a.example`",
        &[Reach("a.example")],
    ),
    (
        Entry::Reach("c.test"),
        "connect to `c.test`",
        &[Reach("c.test")],
    ),
    (
        Entry::StartAny,
        "spawn any program",
        &[Start("git"), Start("rm"), Start("sort")],
    ),
    (Entry::Start("git"), "spawn `git`", &[Start("git")]),
    (Entry::Start("sort"), "spawn `sort`", &[Start("sort")]),
    (
        Entry::Variable("KEY", VariableSource::Secret),
        "read variable `KEY`",
        &[See("KEY")],
    ),
    (
        Entry::Variable("AWS_ID", VariableSource::Caller),
        "read variable `AWS_ID`",
        &[See("AWS_ID")],
    ),
    (
        Entry::Variable("PATH", VariableSource::Caller),
        "read variable `PATH`",
        &[See("PATH")],
    ),
];

/// One rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleSpec {
    effect: Effect,
    source: RuleSource,
    target: &'static str,
    about: &'static [Act],
    within: Option<&'static str>,
}

/// Rules, and a request of the skill in `/skills/s`.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) rules: Vec<RuleSpec>,
    pub(crate) entries: Vec<(Entry, &'static str, &'static [Act])>,
    pub(crate) mode: ApprovalMode,
    pub(crate) is_project_trusted: bool,
    /// Bytes of memory: those that the request asks for, and the ceiling of the rules.
    pub(crate) memory: (u64, u64),
}

/// The decision about one permission, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Allowed,
    Asked,
    Denied,
}

/// What supports a permission apart from rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Support {
    Declared,
    Given,
    Nothing,
    Refused,
}

impl RuleSpec {
    /// Returns the same rule for the product.
    pub(crate) fn rule(&self) -> Rule {
        let rule = Rule::new(
            self.effect,
            self.source,
            self.target.parse::<Target>().unwrap(),
        );
        self.within
            .map_or(rule.clone(), |within| rule.within(within))
    }

    /// Returns the same as a rule of the project.
    pub(crate) fn of_project(self) -> Self {
        Self {
            source: RuleSource::Project,
            ..self
        }
    }

    /// Returns true if the rule applies to the skill. A directory that cannot be compared restricts
    /// and never allows.
    fn applies(&self) -> bool {
        match self.within {
            None | Some("/skills" | "/skills/s") => true,
            Some("/skills/../skills" | "skills") => self.effect != Effect::Allow,
            _ => false,
        }
    }

    /// Returns true if the rule forbids an act.
    pub(crate) fn denies(&self, act: Act) -> bool {
        self.effect == Effect::Deny && self.applies() && self.about.contains(&act)
    }

    /// Returns true if the rule allows an act by itself. Hosts and variables are allowed by name
    /// only.
    pub(crate) fn allows(&self, act: Act, is_project_trusted: bool) -> bool {
        let is_about_reading = self.target.starts_with("write:")
            && self
                .about
                .iter()
                .any(|about| with_reading(*about).contains(&act));
        self.effect == Effect::Allow
            && self.applies()
            && (self.source != RuleSource::Project || is_project_trusted)
            && !matches!(self.target, "network" | "env")
            && (self.about.contains(&act) || is_about_reading)
    }

    /// Returns true if the rule is about exactly this path.
    pub(crate) fn names_path(&self, path: &std::path::Path) -> bool {
        let named = self.target.split_once(':').map(|(_, value)| value);
        named.is_some_and(|named| std::path::Path::new(named) == path)
    }

    fn allows_all(&self, acts: &[Act], is_project_trusted: bool) -> bool {
        acts.iter().all(|act| self.allows(*act, is_project_trusted))
    }

    /// Returns true if the rule is about so much of a permission that the permission is denied.
    /// Single hosts can be left out, other parts cannot.
    fn denies_permission(&self, acts: &[Act]) -> bool {
        let denied = |act: &Act| with_reading(*act).into_iter().any(|act| self.denies(act));
        if acts.iter().any(|act| matches!(act, Reach(_))) {
            acts.iter().all(denied)
        } else {
            acts.iter().any(denied)
        }
    }

    fn asks_about(&self, acts: &[Act]) -> bool {
        let is_about = |act: &Act| {
            with_reading(*act)
                .iter()
                .any(|act| self.about.contains(act))
        };
        self.effect == Effect::Ask && self.applies() && acts.iter().any(is_about)
    }
}

/// Writing includes reading.
fn with_reading(act: Act) -> Vec<Act> {
    if let Write(path) = act {
        vec![act, Read(path)]
    } else {
        vec![act]
    }
}

impl Case {
    /// Returns the rules for the product.
    pub(crate) fn rules(&self) -> Policy {
        let mut ceiling = ResourceLimits::default_ceiling();
        ceiling.memory_bytes = self.memory.1;
        let rules = Policy::default()
            .with_rules(self.rules.iter().map(RuleSpec::rule))
            .with_mode(self.mode)
            .with_ceiling(ceiling);
        if self.is_project_trusted {
            rules.trust_project()
        } else {
            rules
        }
    }

    /// Returns the request for the product.
    pub(crate) fn request(&self) -> Request {
        let mut limits = ResourceLimits::default();
        limits.memory_bytes = self.memory.0;
        let request = Request::new("/skills/s")
            .content_digest("1")
            .workspace("/w")
            .limits(limits);
        self.entries
            .iter()
            .fold(request, |request, (entry, ..)| match entry {
                Entry::Tool(name, pattern) => request.allowed_tool(name, *pattern),
                Entry::Read(path) => request.read(path),
                Entry::Write(path) => request.write(path),
                Entry::Start(program) => request.spawn(*program),
                Entry::StartAny => request.spawn_any(),
                Entry::Reach(host) => request.connect(host.parse().unwrap()),
                Entry::Variable(name, origin) => request.variable(*name, *origin),
            })
    }

    /// Decides on each permission; the key is its text.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, Outcome> {
        let added = self.added();
        let adds_all_programs = added.iter().any(|(text, _)| text == "spawn any program");
        let wanted = self.wants().into_iter().map(|(text, acts, support)| {
            let is_program = acts.iter().all(|act| matches!(act, Start(_)));
            let outcome = match support {
                Support::Refused if is_program && adds_all_programs => Outcome::Allowed,
                support => self.outcome(acts, support),
            };
            (text, outcome)
        });
        let added = added.into_iter().map(|(text, _)| (text, Outcome::Allowed));
        // What the operator allows is allowed, also if the caller may not ask for it.
        wanted.chain(added).collect()
    }

    /// Returns the outcome of the whole request: that of the worst of its parts.
    pub(crate) fn worst(&self) -> Outcome {
        self.outcomes()
            .into_values()
            .max()
            .unwrap_or(Outcome::Allowed)
    }

    /// Returns what the program can do when the whole request is granted, without the hosts that
    /// rules deny.
    pub(crate) fn acts(&self) -> Vec<Act> {
        let requested: Vec<Act> = self
            .wants()
            .into_iter()
            .map(|(_, acts, _)| acts)
            .chain(self.added().into_iter().map(|(_, acts)| acts))
            .flatten()
            .flat_map(|act| with_reading(*act))
            .collect();
        let is_possible = |act: &&Act| {
            requested.contains(act) && !self.rules.iter().any(|rule| rule.denies(**act))
        };
        UNIVERSE.iter().filter(is_possible).copied().collect()
    }

    fn outcome(&self, acts: &[Act], support: Support) -> Outcome {
        let any = |is: &dyn Fn(&RuleSpec) -> bool| self.rules.iter().any(is);
        let allows = |rule: &RuleSpec| rule.allows_all(acts, self.is_project_trusted);
        let asks = |rule: &RuleSpec| rule.asks_about(acts);
        let is_reading = acts.iter().all(|act| matches!(act, Read(_)));
        if support == Support::Refused
            || acts.contains(&See("PATH"))
            || any(&|rule| rule.denies_permission(acts))
        {
            Outcome::Denied
        } else if any(&|rule| rule.source == RuleSource::Admin && asks(rule)) {
            Outcome::Asked
        } else if any(&|rule| rule.source == RuleSource::Invocation && allows(rule)) {
            Outcome::Allowed
        } else if any(&asks) {
            Outcome::Asked
        } else if any(&allows)
            || is_reading
            || support == Support::Given
            || (support == Support::Declared && self.mode == ApprovalMode::Trusted)
        {
            Outcome::Allowed
        } else {
            Outcome::Asked
        }
    }

    /// Lists the permissions that are asked for: the text, the acts, and what supports each.
    fn wants(&self) -> Vec<(String, &'static [Act], Support)> {
        let mut wants = Vec::new();
        for (entry, text, acts) in &self.entries {
            let listed = if matches!(entry, Entry::Tool("WebSearch", _)) {
                self.listed_hosts()
            } else {
                Vec::new()
            };
            if listed.is_empty() {
                wants.push(((*text).to_owned(), *acts, self.support(*entry, text)));
            }
            wants.extend(
                listed
                    .into_iter()
                    .map(|(text, acts)| (text, acts, Support::Declared)),
            );
        }
        wants
    }

    /// Lists what rules allow by name, although nothing asks for it: the text and the acts. The
    /// workspace is read without a rule.
    fn added(&self) -> Vec<(String, &'static [Act])> {
        let is_for_skill = |rule: &&RuleSpec| {
            rule.effect == Effect::Allow
                && rule.applies()
                && (rule.source != RuleSource::Project || self.is_project_trusted)
                && !self.declares_less_than(rule)
        };
        let mut added: Vec<(String, &'static [Act])> = self
            .rules
            .iter()
            .filter(is_for_skill)
            .filter_map(|rule| {
                let text = match rule.target.split_once(':') {
                    None if rule.target == "spawn" => "spawn any program".to_owned(),
                    None if rule.target == "write" => "write `/w`".to_owned(),
                    None | Some(("env", _)) => return None,
                    Some(("network", pattern)) => reached(pattern),
                    Some((verb, value)) => format!("{verb} `{value}`"),
                };
                // In the workspace, not everywhere.
                let about = if rule.target == "write" {
                    &WORKSPACE_WRITES
                } else {
                    rule.about
                };
                Some((text, about))
            })
            .collect();
        added.push(("read `/w`".to_owned(), &WORKSPACE_READS));
        added.retain(|(_, acts)| self.outcome(acts, Support::Nothing) == Outcome::Allowed);
        added
    }

    /// Returns true for a standing rule about all programs or hosts of a skill that names some.
    fn declares_less_than(&self, rule: &RuleSpec) -> bool {
        let (entry, text) = match rule.target {
            "spawn" => (Entry::StartAny, "spawn any program"),
            "network:*" => (Entry::Reach("*"), "connect to any host"),
            _ => return false,
        };
        rule.source != RuleSource::Invocation
            && rule.within.is_none()
            && self.support(entry, text) == Support::Refused
    }

    fn listed_hosts(&self) -> Vec<(String, &'static [Act])> {
        let listing = self
            .rules
            .iter()
            .filter(|rule| rule.allows_all(rule.about, self.is_project_trusted));
        let pattern = |rule: &RuleSpec| {
            rule.target
                .strip_prefix("network:")
                .map(|pattern| (reached(pattern), rule.about))
        };
        listing.filter_map(pattern).collect()
    }

    /// A permission that a tool stands for is declared. The caller gets no programs and hosts
    /// beyond those that the tools name, if there are tools.
    fn support(&self, entry: Entry, text: &str) -> Support {
        let tools: Vec<_> = self
            .entries
            .iter()
            .filter(|(entry, ..)| matches!(entry, Entry::Tool(..)))
            .collect();
        let is_declared = tools.iter().any(|(_, declared, _)| *declared == text);
        let kind = text.split(' ').next();
        let alike: Vec<_> = tools
            .iter()
            .filter(|(_, declared, _)| declared.split(' ').next() == kind)
            .collect();
        let has_whole_kind = alike
            .iter()
            .any(|(entry, ..)| matches!(entry, Entry::Tool(_, None)));
        match entry {
            Entry::Variable(_, VariableSource::Secret) => Support::Declared,
            Entry::Variable(_, VariableSource::Caller) => Support::Given,
            Entry::Variable(_, VariableSource::Undeclared) => Support::Nothing,
            _ if is_declared || has_whole_kind => Support::Declared,
            _ if tools.is_empty() => Support::Nothing,
            Entry::Read(_) | Entry::Write(_) if !alike.is_empty() => Support::Nothing,
            _ => Support::Refused,
        }
    }
}

fn reached(pattern: &str) -> String {
    if pattern == "*" {
        "connect to any host".to_owned()
    } else {
        format!("connect to `{pattern}`")
    }
}

/// Returns all that grants make possible.
pub(crate) fn possible(grants: &Grants) -> Vec<Act> {
    let can = |act: &&Act| match **act {
        Read(path) => grants.innermost_grant(path.as_ref()).is_some(),
        Write(path) => grants.innermost_writable(path.as_ref()).is_some(),
        Reach(host) => {
            matches!(grants.network(), NetworkGrant::Hosts(hosts) if hosts.allows(host, 443))
        }
        Start(program) => grants.spawn().allows_program(program),
        See(name) => grants.variables().contains(name),
    };
    UNIVERSE.iter().filter(can).copied().collect()
}

/// Returns a strategy for rules that cover one of these acts.
pub(crate) fn any_rule(effects: Vec<Effect>, acts: &[Act]) -> BoxedStrategy<RuleSpec> {
    let targets: Vec<_> = TARGETS
        .iter()
        .filter(|(_, about)| about.iter().any(|act| acts.contains(act)))
        .copied()
        .collect();
    let source = select(vec![
        RuleSource::Admin,
        RuleSource::User,
        RuleSource::Project,
        RuleSource::Invocation,
    ]);
    let others = select(vec![
        "/skills",
        "/skills/s",
        "/other",
        "/skills/../skills",
        "skills",
    ]);
    let within = prop_oneof![4 => Just(None), 1 => others.prop_map(Some)];
    let rule = (select(effects), source, select(targets), within);
    rule.prop_map(|(effect, source, (target, about), within)| RuleSpec {
        effect,
        source,
        target,
        about,
        within,
    })
    .boxed()
}

/// Returns cases with rules, most of which match something that the request asks for.
pub(crate) fn any_case() -> impl Strategy<Value = Case> {
    subsequence(ENTRIES.to_vec(), 1..=3).prop_flat_map(|entries| {
        let requested: Vec<Act> = entries
            .iter()
            .flat_map(|(_, _, acts)| *acts)
            .flat_map(|act| with_reading(*act))
            .collect();
        let effects = || {
            vec![
                Effect::Allow,
                Effect::Allow,
                Effect::Allow,
                Effect::Allow,
                Effect::Ask,
                Effect::Deny,
            ]
        };
        let rule =
            prop_oneof![4 => any_rule(effects(), &requested), 1 => any_rule(effects(), UNIVERSE)];
        let mode = select(vec![
            ApprovalMode::Ask,
            ApprovalMode::Ask,
            ApprovalMode::Trusted,
            ApprovalMode::Strict,
        ]);
        let bytes = || select(vec![1_u64 << 20, 2 << 20, 3 << 20]);
        (
            proptest::collection::vec(rule, 0..7),
            Just(entries),
            mode,
            any::<bool>(),
            (bytes(), bytes()),
        )
            .prop_map(|(rules, entries, mode, is_project_trusted, memory)| Case {
                rules,
                entries,
                mode,
                is_project_trusted,
                memory,
            })
    })
}
