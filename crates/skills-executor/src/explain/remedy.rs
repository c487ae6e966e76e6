//! What would change the result of a run.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use skills_policy::{Capability, Denial, Policy, SpawnGrant, is_unsafe_variable};
use skills_sandbox::{RefusedOperation, Termination};

use super::cause::{Cause, LimitKind, MissingPackage, WithheldVariable};
use super::ended_run::EndedRun;
use super::facts::{Allowance, Fact, FactKind, RefusedFact};
use super::outside::OutsideLink;
use super::rule_check::RuleCheck;

/// Parts of Python and Node scripts that start programs.
const STARTS_PROGRAMS: [&str; 6] = [
    "subprocess",
    "os.system(",
    "os.popen(",
    "os.exec",
    "child_process",
    "execa",
];
/// What an operator can change so that a failed run, or one that lost files, works.
///
/// Only the host application knows how: the name of an option, a file, a dialog.
/// [`Remedy::settings`] has the usual ones. Names and paths can come from the program; escape them
/// before showing them in a terminal. Serialized with its name in kebab case as `kind`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Remedy {
    /// Allow permissions.
    Allow {
        /// The rules, in the syntax of rules.
        rules: Vec<String>,
    },
    /// Allow permissions that the program is likely to need next: it was stopped before it could try.
    AllowNext {
        /// The rules, in the syntax of rules.
        rules: Vec<String>,
    },
    /// Allow writing to directories of the home directory, so that files in them are kept.
    KeepHome {
        /// The rules, in the syntax of rules.
        rules: Vec<String>,
    },
    /// Allow reading what a granted file leads to.
    Reveal {
        /// The rules, in the syntax of rules.
        rules: Vec<String>,
        /// The rule that is enough for commands that only read, if these also allow to write.
        #[serde(skip_serializing_if = "Option::is_none")]
        reading: Option<String>,
    },
    /// Allow the host that the program connects to, which is not known.
    AllowHost,
    /// Allow the program that it starts by its name, which is not known.
    AllowProgram,
    /// Give the program a workspace: the directory of its skill is read-only.
    Workspace,
    /// Pass a variable of the environment.
    PassVariable(WithheldVariable),
    /// Run scripts of this type with another interpreter, which has the package, or install the
    /// packages of the skill.
    Package {
        /// The name of the skill.
        skill: String,
        /// What is missing.
        #[serde(flatten)]
        missing: Box<MissingPackage>,
    },
    /// Convert the line ends of a script, for which the program has no rights.
    ConvertLineEnds {
        /// The script, as a path in its skill.
        script: String,
    },
    /// Raise the memory limit.
    Memory {
        /// The limit that was not enough, in bytes.
        limit_bytes: u64,
        /// The highest limit that the policy allows, in bytes.
        max_bytes: u64,
    },
    /// Raise a limit of files or processes.
    RaiseLimit {
        /// What is limited.
        limit: LimitKind,
        /// The limit that was not enough, in bytes for sizes.
        value: u64,
        /// The highest limit that the policy allows.
        max_value: u64,
    },
    /// Raise the timeout.
    Timeout {
        /// The timeout that was not enough, in milliseconds.
        limit_ms: u64,
    },
    /// Start the program again: what it was refused is allowed now for this content.
    StartAgain,
    /// Run although a declared requirement is missing.
    IgnoreRequirements,
    /// Accept a draft, which then is a skill.
    AcceptDraft {
        /// The name of the draft.
        name: String,
    },
    /// Approve the hooks of a skill for its current content.
    ApproveHooks {
        /// The name of the skill.
        skill: String,
    },
}

/// Returns what would have helped. After a success, only what the facts are about; a program that was not
/// started is then no loss.
pub(super) fn remedies(facts: &[Fact], cause: Option<&Cause>, run: &EndedRun<'_>) -> Vec<Remedy> {
    let is_failure = run.is_failure();
    let relevant = refused_facts(facts)
        .filter(|refused| is_failure || refused.operation != RefusedOperation::StartProcess);
    let rules: Vec<String> = relevant
        .filter_map(|refused| Some(refused.rule()?.to_owned()))
        .collect();
    let mut remedies = Vec::new();
    if !rules.is_empty() {
        remedies.push(Remedy::Allow { rules });
        remedies.extend(likely_next(facts, run));
    }
    for fact in facts.iter().filter(|fact| fact.is_relevant) {
        let remedy = of_fact(fact).filter(|remedy| !remedies.contains(remedy));
        remedies.extend(remedy);
    }
    remedies.extend(cause.and_then(|cause| of_cause(cause, run)));
    remedies.extend(more_time(run));
    remedies
}

/// Returns the remedy for a program that was stopped at its deadline, unless the policy allows no later
/// one.
fn more_time(run: &EndedRun<'_>) -> Option<Remedy> {
    let Termination::TimedOut { limit_ms } = run.output.termination else {
        return None;
    };
    let is_raisable = run.rules.policy.ceiling().wall_time > Duration::from_millis(limit_ms);
    is_raisable.then_some(Remedy::Timeout { limit_ms })
}

fn refused_facts(facts: &[Fact]) -> impl Iterator<Item = &RefusedFact> {
    facts.iter().filter_map(|fact| match &fact.kind {
        FactKind::Refused(refused) => Some(refused),
        _ => None,
    })
}

fn of_fact(fact: &Fact) -> Option<Remedy> {
    match &fact.kind {
        FactKind::Refused(refused) => match (&refused.allowed_by, &refused.operation) {
            (Allowance::NamedRule, RefusedOperation::Connect { .. }) => Some(Remedy::AllowHost),
            (Allowance::NamedRule, _) => Some(Remedy::AllowProgram),
            _ => None,
        },
        FactKind::PrivateHome { directories, .. } if !directories.is_empty() => {
            let rules = directories.iter();
            let rules = rules.map(|directory| format!("write:~/{directory}"));
            Some(Remedy::KeepHome {
                rules: rules.collect(),
            })
        }
        FactKind::SkillIsReadOnly {
            has_workspace: false,
        }
        | FactKind::DiscardedFiles {
            has_workspace: false,
            ..
        } => Some(Remedy::Workspace),
        _ => None,
    }
}

/// Returns what a script is likely to need next: it was stopped before it started the programs that its
/// text starts.
fn likely_next(facts: &[Fact], run: &EndedRun<'_>) -> Option<Remedy> {
    let is_process = |operation: &RefusedOperation| {
        matches!(
            operation,
            RefusedOperation::StartProcess | RefusedOperation::StartProgram { .. }
        )
    };
    let spawn = Capability::Spawn.to_string();
    let text = &run.script.1;
    let is_next = run.is_failure()
        && !refused_facts(facts).any(|refused| is_process(&refused.operation))
        && *run.grants().spawn() == SpawnGrant::None
        && STARTS_PROGRAMS.iter().any(|part| text.contains(part))
        && run.rules.is_allowable(&spawn);
    is_next.then(|| Remedy::AllowNext { rules: vec![spawn] })
}

/// Returns what would remove a cause.
fn of_cause(cause: &Cause, run: &EndedRun<'_>) -> Option<Remedy> {
    match cause {
        Cause::MissingPackage(missing) => Some(Remedy::Package {
            skill: run.skill.to_owned(),
            missing: missing.clone(),
        }),
        Cause::OutOfMemory { limit_bytes, .. } => memory(*limit_bytes, run.rules.policy),
        Cause::WithheldVariable(variable) => {
            let is_passable = !variable.is_only_reported
                && !is_unsafe_variable(&variable.name)
                && run.rules.is_allowable(&format!("env:{}", variable.name));
            is_passable.then(|| Remedy::PassVariable(variable.clone()))
        }
        Cause::LimitReached { limit, value } => {
            let max_value = limit.of(run.rules.policy.ceiling());
            let is_raisable = limit.in_option(max_value) > limit.in_option(*value);
            is_raisable.then_some(Remedy::RaiseLimit {
                limit: *limit,
                value: *value,
                max_value,
            })
        }
        Cause::LeadsOutside(link) => reveal(link, &run.rules),
        Cause::WindowsLineEnds { script } => Some(Remedy::ConvertLineEnds {
            script: script.clone(),
        }),
        _ => None,
    }
}

/// Returns the remedy for too little memory, unless the policy allows no more.
fn memory(limit_bytes: u64, policy: &Policy) -> Option<Remedy> {
    let max_bytes = policy.ceiling().memory_bytes;
    (max_bytes >> 20 > limit_bytes >> 20).then_some(Remedy::Memory {
        limit_bytes,
        max_bytes,
    })
}

/// Returns the rules for what a granted file leads to, each only if it changes something.
fn reveal(link: &OutsideLink, rules: &RuleCheck<'_>) -> Option<Remedy> {
    if !rules.is_suggestible(&link.target) {
        return None;
    }
    let rule = |access: &str, path: &Path| format!("{access}:{}", path.display());
    let changes = |rule: &String| rules.is_allowable(rule);
    let written = link.written.iter().map(|path| rule("write", path));
    let mut all: Vec<String> = written.filter(changes).collect();
    // A rule to write a directory also allows to read it.
    let read = Some(rule("read", &link.target)).filter(|rule| !link.is_visible && changes(rule));
    let reading = read.clone().filter(|_| !all.is_empty());
    if all.is_empty() {
        all.extend(read);
    }
    (!all.is_empty()).then_some(Remedy::Reveal {
        rules: all,
        reading,
    })
}

impl Remedy {
    /// Returns what would allow a denied run; `None` if no rule would allow one of its permissions, or
    /// if one [gives keys or control](skills_policy::Permission::caution).
    #[must_use]
    pub fn for_denial(denial: &Denial) -> Option<Self> {
        let mut rules: Vec<String> = Vec::new();
        for decision in denial.denied() {
            let rule = decision.permission().rule_target()?.to_string();
            if !decision.is_allowable() || decision.permission().caution().is_some() {
                return None;
            }
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        (!rules.is_empty()).then_some(Self::Allow { rules })
    }
}
