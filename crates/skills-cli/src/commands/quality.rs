//! `skills quality`: judges skills by how they are used, and by what does not work any more.

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::ledger::{Assessment, Reason, Verdict};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::line;
use crate::usage_report::{
    counts_to_json, describe_coverage, facts_of, read_summary, report_to_json, share_to_json,
};

/// Judge skills by how they are used
///
/// Reports skills that fail too often, fail more since an update, are not used any more, link to
/// missing files, lack programs or variables, or repeat another skill. A verdict needs evidence: at
/// least five runs in the last 90 days. Nothing is changed or deleted.
#[derive(Debug, Args)]
pub(crate) struct Quality {
    /// Also list the skills without a problem
    #[arg(long)]
    all: bool,
}

/// A skill with its judgement.
struct Judged<'a> {
    entry: &'a Entry,
    assessment: Assessment,
}

impl Quality {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let summary = read_summary(context)?;
        let runtime = context.build(context.unrecorded_builder()?);
        let catalog = runtime.library().catalog();
        let facts = facts_of(&runtime, &catalog, &context.listing_modes()?);
        let mut judged: Vec<Judged<'_>> = catalog
            .entries()
            .iter()
            .zip(&facts)
            .map(|(entry, facts)| Judged {
                entry,
                assessment: Assessment::new(facts, &summary),
            })
            .collect();
        // The sort is stable: skills with one verdict keep the order of the catalog.
        judged.sort_by_key(|one| one.assessment.verdict);
        let output = context.output;
        if output.is_json() {
            let skills = judged.iter().map(Judged::to_json).collect();
            return output.json(&report_to_json(&summary, skills));
        }
        output.status(&describe_coverage(&summary));
        let shown = judged.iter().filter(|one| self.all || one.has_problem());
        output.lines(shown.flat_map(Judged::lines))?;
        if !self.all {
            report_others(&judged, context);
        }
        Ok(Exit::Success)
    }
}

/// Reports how many skills have no problem.
fn report_others(judged: &[Judged<'_>], context: &Context) {
    let count = |verdict| {
        let others = judged.iter().filter(|one| !one.has_problem());
        others
            .filter(|one| one.assessment.verdict == verdict)
            .count()
    };
    let (healthy, unknown) = (count(Verdict::Healthy), count(Verdict::Unknown));
    context.output.status(&format!(
        "{healthy} healthy, {unknown} with too little evidence; see `--all`"
    ));
}

impl Judged<'_> {
    fn has_problem(&self) -> bool {
        !matches!(self.assessment.verdict, Verdict::Healthy | Verdict::Unknown)
    }

    /// Returns a line for each reason, and one for a skill without a reason.
    fn lines(&self) -> Vec<String> {
        let Assessment {
            verdict, reasons, ..
        } = &self.assessment;
        let (verdict, name) = (verdict.as_str(), line(self.entry.name().as_str()));
        if reasons.is_empty() {
            return vec![format!("{verdict:<8} {name}")];
        }
        let lines = reasons.iter().enumerate().map(|(number, reason)| {
            let verdict = if number == 0 { verdict } else { "" };
            format!("{verdict:<8} {name}: {}", line(&reason.to_string()))
        });
        lines.collect()
    }

    fn to_json(&self) -> Value {
        let assessment = &self.assessment;
        let reason =
            |reason: &Reason| json!({"code": reason.code(), "message": reason.to_string()});
        json!({
            "name": self.entry.name(),
            "scope": self.entry.scope().as_str(),
            "path": self.entry.location().to_string_lossy(),
            "verdict": assessment.verdict.as_str(),
            "reasons": assessment.reasons.iter().map(reason).collect::<Vec<_>>(),
            "staleness": assessment.staleness.as_str(),
            "failures": share_to_json(assessment.failures),
            "abandoned": share_to_json(assessment.abandoned),
            "counts": counts_to_json(&assessment.counts),
        })
    }
}
