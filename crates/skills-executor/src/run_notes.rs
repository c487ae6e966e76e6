//! Notes of a run for its caller.

use skills_library::has_program;
use skills_policy::{Decision, DecisionReason, Permission, PermissionDecision, RuleSource};
use skills_sandbox::Termination;

use crate::artifacts::{ExecutionArtifacts, ExecutionStatus, MISSING_REQUIREMENT};
use crate::authorize::Authorized;
use crate::explain::rule_obstacle;
use crate::job::MAX_VARIABLE_INPUT_BYTES;
use crate::redaction::Redactor;
use crate::skill_copies::SkillCopy;

/// Describes what the caller should know about a run that is about to start.
pub(crate) fn notes_before_run(run: &Authorized, redactor: &Redactor) -> Vec<String> {
    let (planned, grants) = (run.planned(), run.grants());
    let mut notes: Vec<String> = redactor
        .too_short()
        .iter()
        // A variable that was not granted cannot be in the output.
        .filter(|name| grants.variables().contains(*name))
        .map(|name| format!("the value of `{name}` is too short to be redacted in the output"))
        .collect();
    if planned.has_protocol_input() && planned.stdin().len() > MAX_VARIABLE_INPUT_BYTES {
        notes.push(
            "the input is too long for SKILL_INPUT; it was passed on standard input only"
                .to_owned(),
        );
    }
    let missing = run.checked().missing().iter();
    notes.extend(missing.map(|missing| format!("{MISSING_REQUIREMENT}{missing}")));
    notes.extend(unused_rules(run));
    let permissions = planned.services().permissions();
    let withheld = permissions.withheld_by_rules(run.request(), grants.decisions());
    notes.extend(note_on_withheld(planned.name(), &withheld));
    notes.extend(run.content().and_then(note_on_repaired));
    notes.extend(run.packages().notes());
    notes
}

/// Says which scripts are repaired in the private copy, and so differ from the files of the skill.
fn note_on_repaired(copy: &SkillCopy) -> Option<String> {
    const MAX_SHOWN: usize = 3;
    let repaired = copy.repaired();
    let more = repaired.len().saturating_sub(MAX_SHOWN);
    let shown = repaired.iter().take(MAX_SHOWN);
    let mut shown: Vec<String> = shown.map(|path| format!("`{path}`")).collect();
    shown.extend((more > 0).then(|| format!("{more} more")));
    (!shown.is_empty()).then(|| {
        format!(
            "scripts with line ends or a byte order mark of Windows run from a repaired private copy: {}",
            shown.join(", ")
        )
    })
}

/// Describes the `allow` rules of the invocation that allowed nothing, each with the reason, and those
/// for programs and files that do not exist.
fn unused_rules(run: &Authorized) -> Vec<String> {
    let (planned, grants) = (run.planned(), run.grants());
    let services = planned.services();
    let policy = services.permissions().policy();
    // An image has programs of its own.
    let finder = planned
        .uses_programs_of_host()
        .then(|| services.finder(planned.name()));
    let without_effect = policy
        .unused_invocation_rules(grants.decisions())
        .into_iter()
        .map(|rule| {
            let target = rule.target();
            match rule_obstacle(policy, run.request(), target) {
                Some(reason) => format!("`{target}` had no effect on this run: {reason}"),
                None if target.variable().is_some() => {
                    format!("`{target}` had no effect on this run: no value was passed for it")
                }
                None => format!("`{target}` had no effect on this run"),
            }
        });
    let missing = grants.decisions().iter().filter_map(|decision| {
        let DecisionReason::Rule {
            source: RuleSource::Invocation,
            ..
        } = decision.reason()
        else {
            return None;
        };
        let target = decision.permission().rule_target()?;
        let is_missing = match decision.permission() {
            Permission::Program(name) => finder
                .as_deref()
                .is_some_and(|finder| !has_program(finder, name)),
            Permission::Read(path) => path.symlink_metadata().is_err(),
            _ => false,
        };
        is_missing.then(|| format!("`{target}` had no effect on this run: it does not exist"))
    });
    without_effect.chain(missing).collect()
}

/// Describes what standing rules allow, and do not allow to this content.
fn note_on_withheld(skill: &str, withheld: &[Permission]) -> Option<String> {
    let withheld: Vec<String> = withheld
        .iter()
        .filter_map(Permission::rule_target)
        .map(|target| format!("`{target}`"))
        .collect();
    let withheld = withheld.join(", ");
    (!withheld.is_empty()).then(|| {
        format!(
            "rules of the policy apply to approved content only, so this run did not get {withheld}; \
             approve the skill with `skills trust {skill}`"
        )
    })
}

/// Adds a note about what only the skill asked for and a failed run did not have.
pub(crate) fn report_omitted(artifacts: &mut ExecutionArtifacts) {
    const MAX_SHOWN: usize = 5;
    let decisions = artifacts.decisions.iter();
    let omitted = decisions.filter(|decision| decision.decision() == Decision::Omit);
    // Rules and the sandbox decide about the others.
    let is_approvable =
        |decision: &PermissionDecision| matches!(decision.reason(), DecisionReason::NoMatchingRule);
    let remedy = if omitted.clone().all(is_approvable) {
        format!(
            "; approve the skill with `skills trust {}`",
            artifacts.skill
        )
    } else {
        String::new()
    };
    let mut omitted: Vec<String> = omitted
        .map(|decision| words(decision.permission()))
        .collect();
    omitted.dedup();
    if omitted.is_empty() || artifacts.exit_status.is_success() {
        return;
    }
    let more = omitted.len().saturating_sub(MAX_SHOWN);
    omitted.truncate(MAX_SHOWN);
    omitted.extend((more > 0).then(|| format!("and {more} more")));
    artifacts.notes.push(format!(
        "the skill asks for more than this run had: {}{remedy}",
        omitted.join(", ")
    ));
}

/// Returns a permission without its paths, which a model does not know.
fn words(permission: &Permission) -> String {
    match permission.path() {
        Some(_) => permission.capability().to_string(),
        None => permission.to_string(),
    }
}

/// Adds an entry about lost files if the program was stopped at its disk limit.
pub(crate) fn report_unwritten_files(artifacts: &mut ExecutionArtifacts) {
    if let ExecutionStatus::Failed {
        termination: Termination::DiskLimit(exceeded),
    } = &artifacts.exit_status
    {
        let text = format!("files not written before the run was stopped: {exceeded}");
        artifacts.output_files.omitted.insert(0, text);
    }
}
