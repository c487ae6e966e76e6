//! What is known about a skill without its ledger.

use std::fmt;

use crate::{Digest, Timestamp};

/// What the files of a skill and the host say about it, for an [`Assessment`](crate::Assessment).
///
/// By default nothing is known: no content, no time of installation, not pinned, no resources, no
/// problems and no duplicates.
///
/// ```
/// use skills_ledger::{Assessment, SkillFacts, Summarizer, Timestamp, Verdict};
///
/// let now = Timestamp::from_millis(1_764_000_000_000);
/// let facts = SkillFacts::new("pdf", "user");
/// let assessment = Assessment::new(&facts, &Summarizer::new(now).finish());
/// assert_eq!(assessment.verdict, Verdict::Unknown);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillFacts {
    /// The name of the skill.
    pub name: String,
    /// The scope of its root.
    pub scope: String,
    /// Its present content, if it is known. Without it the newest content of the ledger is judged.
    pub digest: Option<Digest>,
    /// When it was installed, if that is known. A ledger that has an earlier event is right.
    pub installed: Option<Timestamp>,
    /// Whether its user or author wants to keep it however rarely it is used.
    pub is_pinned: bool,
    /// Whether it has programs or references. Of a skill without them nothing can be used after its
    /// activation.
    pub has_resources: bool,
    /// What does not work any more.
    pub problems: Vec<Problem>,
    /// Skills with almost the same text.
    pub duplicates: Vec<Duplicate>,
}

/// Something that a skill refers to and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// The path, program, variable or system.
    pub subject: String,
}

/// The kinds of [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The instructions link to a file that the skill does not have.
    DeadLink,
    /// A declared program is not installed. Programs of the skill do not run.
    MissingProgram,
    /// A declared variable has no value.
    MissingVariable,
    /// The skill is for other systems. Its programs do not run.
    UnsupportedSystem,
    /// The files of the skill cannot be read.
    Unreadable,
}

/// A skill with almost the same text.
#[derive(Debug, Clone, PartialEq)]
pub struct Duplicate {
    /// The name of the other skill.
    pub skill: String,
    /// The share of the text that both have, from 0 to 1.
    pub similarity: f64,
    /// Whether both have the same description, with which a model cannot tell them apart.
    pub has_same_description: bool,
}

impl SkillFacts {
    /// Creates the facts of a skill of which nothing else is known.
    #[must_use]
    pub fn new(name: impl Into<String>, scope: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            scope: scope.into(),
            ..Self::default()
        }
    }
}

impl ProblemKind {
    /// Returns the kind as a code in kebab case, as in JSON output.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::DeadLink => "dead-link",
            Self::MissingProgram => "missing-program",
            Self::MissingVariable => "missing-variable",
            Self::UnsupportedSystem => "unsupported-system",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = &self.subject;
        match self.kind {
            ProblemKind::DeadLink => {
                write!(f, "links to `{subject}`, which the skill does not have")
            }
            ProblemKind::MissingProgram => write!(f, "program `{subject}` not found"),
            ProblemKind::MissingVariable => write!(f, "variable `{subject}` is not set"),
            ProblemKind::UnsupportedSystem => write!(f, "is for {subject} only"),
            ProblemKind::Unreadable => write!(f, "cannot be read: {subject}"),
        }
    }
}
