//! Records how skills are used, and judges each skill by it.
//!
//! ```text
//! Event --Ledger::append--> offers.jsonl, uses.jsonl      one line of JSON per event
//! files --Ledger::summarize--> Summary                     one pass; memory by skills, not events
//! Summary + SkillFacts --Assessment::new--> Verdict        failing, broken, stale, review, healthy
//! files --Ledger::recent_uses--> the skills used last       for a list
//! ```
//!
//! The ledger is for the user of one machine: nothing is sent anywhere, and an event has no field
//! for the text of a prompt, a request or an argument. A judgement changes nothing: no skill is
//! deleted, edited or hidden because of it. It needs evidence: with few events the verdict is
//! [`Verdict::Unknown`].
//!
//! This crate must not know skills, their files or a runtime: it gets names, digests and facts. It
//! reads no clock; each event has its time, and each summary the time to which ages refer.
//!
//! ```
//! use std::time::Duration;
//! use skills_ledger::{
//!     Activity, Assessment, Digest, Event, Ledger, RunOutcome, SkillFacts, Timestamp, Verdict,
//! };
//!
//! # let directory = tempfile::tempdir()?;
//! let ledger = Ledger::new(directory.path().join("ledger"));
//! let now = Timestamp::from_millis(1_764_000_000_000);
//! let content = Digest::from_content_digest(&[7; 32]);
//! for hour in 0..8 {
//!     let time = now.minus(Duration::from_secs(hour * 3_600));
//!     let run = Activity::ScriptRun(RunOutcome::Failed);
//!     ledger.append(&[Event::new("pdf", "user", run, time).digest(content)])?;
//! }
//! let mut facts = SkillFacts::new("pdf", "user");
//! facts.digest = Some(content);
//! let assessment = Assessment::new(&facts, &ledger.summarize(now)?);
//! assert_eq!(assessment.verdict, Verdict::Failing);
//! assert_eq!(assessment.reasons[0].to_string(), "failed 8 of 8 times in the last 90 days");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activity;
mod assessment;
mod counts;
mod error;
mod event;
mod facts;
mod ledger;
mod line;
mod reader;
mod recent_uses;
mod sessions;
mod staleness;
mod summary;
mod time;

pub use activity::{ActivatedBy, Activity, RunOutcome, TurnOutcome};
pub use assessment::{Assessment, Reason, Verdict};
pub use counts::{Counts, Share};
pub use error::LedgerError;
pub use event::{
    Digest, Event, MAX_NAME_BYTES, MAX_SCOPE_BYTES, SessionHash, scope_of_directory, scope_of_root,
};
pub use facts::{Duplicate, Problem, ProblemKind, SkillFacts};
pub use ledger::{Ledger, Rotation};
pub use recent_uses::RecentUse;
pub use staleness::{Staleness, observed_days};
pub use summary::{ContentUsage, RECENT_DAYS, SkillUsage, Summarizer, Summary};
pub use time::Timestamp;
