//! Questions about runs, as values.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Answer, Permission, PermissionDecision, ResourceLimits};

/// A question about one run, between two of its stages: before its program starts, or after an attempt
/// that was refused something. One [`Answer`] covers all subjects.
///
/// Why something is asked is part of each subject: who requested it, or how the content changed. Names,
/// commands and permissions can contain text that a skill wrote. Escape control and invisible characters
/// before display, and do not ask if the subjects cannot be shown in full: an approver cannot approve what
/// is not visible.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Question {
    /// The subjects, at least one.
    pub subjects: Vec<Subject>,
    /// What an answer covers.
    pub covers: Coverage,
    /// What earlier attempts of the run have done; nothing before the first one.
    #[serde(skip_serializing_if = "RunEffects::is_none")]
    pub done: RunEffects,
    /// The number of attempts of the run that ended. The last one was refused what is asked.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// The display name of the skill, which the skill chooses itself.
    pub name: String,
    /// The skill directory, the directory that a host command works on, or the project.
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    pub directory: PathBuf,
    /// The program that will run, with its arguments. Empty if nothing runs.
    pub command: Vec<String>,
    /// True if an answer can allow any program, see [`Answer::AllowAllPrograms`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offers_all_programs: bool,
    /// The permissions that are granted without an answer.
    pub granted: Vec<PermissionDecision>,
    /// Whether this content, or other content of the same directory, was approved before.
    pub content: ContentStatus,
    /// The limits of the run, with the ceiling of the policy applied.
    pub limits: ResourceLimits,
    /// Additional notes for the approver, such as risks and failures of the store.
    pub notes: Vec<String>,
}

/// One thing that a question asks for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Subject {
    /// A permission: a path, a host, a program, a variable, a package. The skill declares it, the caller
    /// requests it, or the last attempt was refused it, as [`PermissionDecision::requesters`] says.
    Permission(PermissionDecision),
    /// This content of the skill, which was never approved with the privileges that standing rules grant.
    Content,
    /// The skills of a project.
    Project {
        /// The number of skills.
        skills: usize,
        /// The names of the skills, if the answer covers exactly these, with their present content.
        /// Empty if it covers the project: all skills, its settings and its policy, from now on.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
    },
    /// A higher limit than the one that the last attempt reached.
    Limit(RaisedLimit),
}

/// A limit that a run reached, with a higher value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "limit", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RaisedLimit {
    /// Wall-clock time.
    WallTime {
        /// The limit that was reached.
        from: Duration,
        /// The higher one.
        to: Duration,
    },
    /// Memory, in bytes.
    Memory {
        /// The limit that was reached.
        from: u64,
        /// The higher one.
        to: u64,
    },
}

/// The content and the command that an answer to a question covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// The content digest of the skill, or that of the command; without one an answer covers this run
    /// only.
    pub digest: Option<String>,
    /// True if the caller wrote the command. An answer then covers exactly these arguments and lasts at
    /// most for the session.
    pub is_command: bool,
    /// True if the digest is that of the command alone: a host command works on the directory, and the
    /// files in it are not hashed.
    pub is_command_alone: bool,
    /// Further directories that the digest of a command covers, since the command reads
    /// [copies](crate::Request::copy_of) of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<PathBuf>,
}

/// The effects of an attempt of a run, which a further attempt would have again.
///
/// [`Display`](fmt::Display) writes a phrase such as `changed 2 files, connected to a.example`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RunEffects {
    /// The number of files that it created or changed in directories that are kept.
    pub changed_files: usize,
    /// True if it could write in directories that are not compared.
    pub may_have_written: bool,
    /// Hosts that it connected to.
    pub hosts: Vec<String>,
    /// True if output was passed on while it ran.
    pub has_given_output: bool,
    /// True if it could read input that is not kept.
    pub has_taken_input: bool,
}

/// How the content of a skill relates to its stored approval.
///
/// A change is reported as the difference of the declared privileges, not of the files: an approver
/// sees directly whether an update asks for more than the version before.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContentStatus {
    /// No content of this directory was approved before, or it has no digest.
    New,
    /// This content was approved before, for other permissions.
    Approved,
    /// Other content of this directory was approved before.
    Changed {
        /// Privileges that the skill declares now and did not declare when it was approved: entries
        /// of `allowed-tools`, variables, hooks.
        added: Vec<String>,
        /// Privileges that it declared then and does not declare now.
        removed: Vec<String>,
    },
}

/// What an answer about the skills of a project does not cover.
const ONLY_SKILLS: &str = "only their present content, without the settings, the policy and the hooks of \
     the project; programs of them still get only what is allowed";

impl Question {
    /// Creates the question whether the skills of a project may be used. `directory` is canonical.
    pub fn about_project(directory: impl Into<PathBuf>, skills: usize) -> Self {
        Self::about_skills_of(directory.into(), skills, Vec::new())
    }

    /// Creates the question whether these skills of a project may be used with their present content, which
    /// has this digest. Its settings, its policy and its hooks are not part of it. `directory` is canonical.
    pub fn about_project_skills(
        directory: impl Into<PathBuf>,
        names: Vec<String>,
        digest: impl Into<String>,
    ) -> Self {
        let mut question = Self::about_skills_of(directory.into(), names.len(), names);
        question.covers.digest = Some(digest.into());
        question.notes.push(ONLY_SKILLS.to_owned());
        question
    }

    fn about_skills_of(directory: PathBuf, skills: usize, names: Vec<String>) -> Self {
        Self {
            subjects: vec![Subject::Project { skills, names }],
            covers: Coverage::default(),
            done: RunEffects::default(),
            attempts: 0,
            name: String::new(),
            directory,
            command: Vec::new(),
            offers_all_programs: false,
            granted: Vec::new(),
            content: ContentStatus::New,
            limits: ResourceLimits::default(),
            notes: Vec::new(),
        }
    }

    /// Returns true if an earlier attempt was refused what is asked.
    #[must_use]
    pub fn is_after_refusal(&self) -> bool {
        self.attempts > 0
    }

    /// Returns the permissions that are asked for.
    pub fn permissions(&self) -> impl Iterator<Item = &PermissionDecision> {
        self.subjects.iter().filter_map(|subject| match subject {
            Subject::Permission(decision) => Some(decision),
            _ => None,
        })
    }

    /// Returns true if the skills of a project are asked about, and not a run.
    #[must_use]
    pub fn is_about_project(&self) -> bool {
        matches!(self.subjects[..], [Subject::Project { .. }])
    }

    /// Returns true if the content itself is asked about.
    #[must_use]
    pub fn is_about_content(&self) -> bool {
        self.subjects.contains(&Subject::Content)
    }

    /// Returns true if an answer can hold for later runs: a limit is raised for one run alone.
    pub(crate) fn is_lasting(&self) -> bool {
        let mut subjects = self.subjects.iter();
        subjects.any(|subject| !matches!(subject, Subject::Limit(_)))
    }

    pub(crate) fn is_about_limit(&self) -> bool {
        let mut subjects = self.subjects.iter();
        subjects.any(|subject| matches!(subject, Subject::Limit(_)))
    }

    /// Returns the answers that have an effect, the narrowest first and [`Answer::Deny`] last. An approver
    /// offers those of them that it can give.
    ///
    /// What has no digest is not recognized again, commands of a caller are not approved permanently, a
    /// limit lasts for the run, and a run with [effects](Self::done) is not repeated.
    #[must_use]
    pub fn answers(&self) -> Vec<Answer> {
        let mut answers = Vec::new();
        if self.is_about_project() {
            return vec![Answer::AllowAlways, Answer::Deny];
        }
        if self.done.is_none() {
            answers.push(Answer::AllowOnce);
            answers.extend(self.offers_all_programs.then_some(Answer::AllowAllPrograms));
        }
        if self.covers.digest.is_some() && self.is_lasting() {
            answers.extend(self.session_answers());
            answers.extend((!self.covers.is_command).then_some(Answer::AllowAlways));
        }
        answers.push(Answer::Deny);
        answers
    }

    /// Returns the answers that last until the session ends. Those about programs are among them only if
    /// the question is about programs.
    fn session_answers(&self) -> Vec<Answer> {
        let asks_for = |is_asked: fn(&Permission) -> bool| {
            self.permissions()
                .any(|decision| is_asked(decision.permission()))
        };
        if !self.covers.is_command {
            vec![Answer::AllowSession]
        } else if asks_for(|permission| *permission == Permission::AnyProgram) {
            // A shell command asks for any program, so both answers would be the same.
            vec![Answer::AllowCommands]
        } else if asks_for(|permission| matches!(permission, Permission::Program(_))) {
            vec![Answer::AllowProgram, Answer::AllowCommands]
        } else {
            vec![Answer::AllowSession]
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl RaisedLimit {
    /// Sets the higher limit.
    pub(crate) fn apply(self, limits: &mut ResourceLimits) {
        match self {
            Self::WallTime { to, .. } => limits.wall_time = to,
            Self::Memory { to, .. } => limits.memory_bytes = to,
        }
    }
}

impl RunEffects {
    /// Returns true if a further attempt would do nothing twice.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for RunEffects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut done: Vec<String> = Vec::new();
        match self.changed_files {
            0 if self.may_have_written => done.push("may have written files".to_owned()),
            0 => {}
            1 => done.push("changed 1 file".to_owned()),
            count => done.push(format!("changed {count} files")),
        }
        match self.hosts.as_slice() {
            [] => {}
            [host] => done.push(format!("connected to {host}")),
            [host, others @ ..] => {
                done.push(format!("connected to {host} and {} more", others.len()));
            }
        }
        done.extend(self.has_given_output.then(|| "printed output".to_owned()));
        done.extend(self.has_taken_input.then(|| "could read input".to_owned()));
        f.write_str(&done.join(", "))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permission(decision) => write!(
                f,
                "{} (requested by {})",
                decision.permission(),
                decision.requesters()
            ),
            Self::Content => {
                f.write_str("use what is allowed above, for content that was never approved")
            }
            Self::Project { skills, names } if names.is_empty() => {
                let plural = if *skills == 1 { "" } else { "s" };
                write!(f, "{skills} skill{plural}, the settings and the policy")
            }
            Self::Project { names, .. } => {
                let plural = if names.len() == 1 { "" } else { "s" };
                // A name cannot end its quotation and go on as another one.
                let names: Vec<String> =
                    names.iter().map(|name| name.replace('`', "\\`")).collect();
                write!(f, "skill{plural} `{}`", names.join("`, `"))
            }
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

impl fmt::Display for RaisedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WallTime { to, .. } => write!(f, "run for {} s", to.as_secs().max(1)),
            Self::Memory { to, .. } => write!(f, "use {} MiB of memory", (to >> 20).max(1)),
        }
    }
}
