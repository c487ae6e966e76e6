//! Compares observations with the committed ones, and writes both files that hold them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use similar::TextDiff;

use super::observation::Observation;
use super::report;
use crate::command::workspace_dir;

const SNAPSHOT: &str = "xtask/agents/snapshot.json";
pub(crate) const PAGE: &str = "docs/agents.md";
const SECTION: Section = Section {
    begin: "<!-- begin of figures -->\n",
    end: "<!-- end of figures -->\n",
};

/// A generated part of the page, by the lines around it.
pub(crate) struct Section {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

/// What the models of all agents saw, by the key of the agent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Snapshot {
    pub(crate) agents: BTreeMap<String, Observation>,
}

/// A difference between the committed observation of an agent and a new one.
pub(crate) struct Difference {
    /// Whether the agent is the version of the committed observation, so that the server is the
    /// cause.
    pub(crate) is_same_version: bool,
    pub(crate) diff: String,
}

impl Snapshot {
    /// Reads the committed snapshot.
    pub(crate) fn read() -> Result<Self> {
        let path = workspace_dir().join(SNAPSHOT);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Returns what differs for one agent; `None` if nothing does.
    pub(crate) fn compare(&self, key: &str, new: &Observation) -> Result<Option<Difference>> {
        let old = self.agents.get(key);
        if old == Some(new) {
            return Ok(None);
        }
        let text = |observation: Option<&Observation>| match observation {
            Some(observation) => serde_json::to_string_pretty(observation),
            None => Ok(String::new()),
        };
        let (old_text, new_text) = (text(old)?, text(Some(new))?);
        let diff = TextDiff::from_lines(&old_text, &new_text)
            .unified_diff()
            .context_radius(2)
            .header(&format!("{SNAPSHOT}: {key}"), "this run")
            .to_string();
        Ok(Some(Difference {
            is_same_version: old.is_some_and(|old| old.version == new.version),
            diff,
        }))
    }

    /// Writes the snapshot and the figures in the page.
    pub(crate) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(workspace_dir().join(SNAPSHOT), text)?;
        let path = workspace_dir().join(PAGE);
        let page = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let page = SECTION.replace(&page, &report::figures(self))?;
        fs::write(&path, page)?;
        Ok(())
    }
}

impl Section {
    /// Returns `page` with `figures` in the place of this part.
    pub(crate) fn replace(&self, page: &str, figures: &str) -> Result<String> {
        let missing = |line: &str| format!("{PAGE} has no line `{}`", line.trim_end());
        let (before, rest) = page
            .split_once(self.begin)
            .with_context(|| missing(self.begin))?;
        let (_, after) = rest
            .split_once(self.end)
            .with_context(|| missing(self.end))?;
        Ok(format!(
            "{before}{}\n{figures}\n{}{after}",
            self.begin, self.end
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_replaced_between_the_marks() {
        let Section { begin, end } = SECTION;
        let page = format!("a\n{begin}old\n{end}b\n");
        let new = SECTION.replace(&page, "new\n").unwrap();
        assert_eq!(new, format!("a\n{begin}\nnew\n\n{end}b\n"));
        assert!(SECTION.replace("a\n", "new\n").is_err());
    }

    #[test]
    fn the_page_contains_the_committed_snapshot() {
        let page = fs::read_to_string(workspace_dir().join(PAGE)).unwrap();
        let figures = report::figures(&Snapshot::read().unwrap());
        assert_eq!(
            SECTION.replace(&page, &figures).unwrap(),
            page,
            "run `cargo xtask clients --agent --update`"
        );
    }
}
