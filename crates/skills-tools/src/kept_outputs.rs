//! Output of programs that a client was shown in part, for the rest of it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use skills_threads::lock;

/// How many outputs of a session are kept, the latest ones, and how many bytes of them.
const MAX_OUTPUTS: usize = 4;
const MAX_SESSION_BYTES: usize = 1 << 20;
/// How many bytes of all sessions are kept. Beyond that, what is new is not kept.
const MAX_BYTES: usize = 32 << 20;

/// The directory of outputs in virtual paths. It does not exist.
const DIRECTORY: &str = "/program-output/";

/// The outputs of each session, as its client was shown parts of them. Every session is removed at its
/// end, and none can read those of another one.
#[derive(Debug, Default)]
pub(crate) struct KeptOutputs(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    by_name: HashMap<String, Session>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Session {
    /// The number of outputs that were kept, which is the name of the latest one.
    count: u64,
    /// The latest last.
    outputs: VecDeque<(u64, Arc<str>)>,
}

impl KeptOutputs {
    /// Keeps an output and returns its virtual path; `None` if it does not fit.
    pub(crate) fn keep(&self, session: &str, output: &str) -> Option<String> {
        let mut sessions = lock(&self.0);
        let Sessions { by_name, bytes } = &mut *sessions;
        let known = by_name.get(session);
        let evicted = known.map_or(0, |known| known.to_evict(output.len()));
        let freed = known.map_or(0, |known| known.bytes_of_first(evicted));
        if output.len() > MAX_SESSION_BYTES || *bytes - freed + output.len() > MAX_BYTES {
            return None;
        }
        let session = by_name.entry(session.to_owned()).or_default();
        session.outputs.drain(..evicted);
        session.count += 1;
        session.outputs.push_back((session.count, output.into()));
        *bytes = *bytes - freed + output.len();
        Some(format!("{DIRECTORY}{}", session.count))
    }

    /// Returns an output of a session; `None` if it is not kept.
    pub(crate) fn get(&self, session: &str, number: u64) -> Option<Arc<str>> {
        let sessions = lock(&self.0);
        let mut outputs = sessions.by_name.get(session)?.outputs.iter();
        let (_, output) = outputs.find(|(known, _)| *known == number)?;
        Some(Arc::clone(output))
    }

    pub(crate) fn remove(&self, session: &str) {
        let mut sessions = lock(&self.0);
        if let Some(removed) = sessions.by_name.remove(session) {
            sessions.bytes -= removed.bytes_of_first(removed.outputs.len());
        }
    }
}

impl Session {
    /// Returns how many of the oldest outputs make place for another one.
    fn to_evict(&self, bytes: usize) -> usize {
        let all = self.bytes_of_first(self.outputs.len());
        let fits = |evicted: &usize| {
            self.outputs.len() - evicted < MAX_OUTPUTS
                && all - self.bytes_of_first(*evicted) + bytes <= MAX_SESSION_BYTES
        };
        let count = self.outputs.len();
        (0..count).find(fits).unwrap_or(count)
    }

    fn bytes_of_first(&self, count: usize) -> usize {
        let first = self.outputs.iter().take(count);
        first.map(|(_, output)| output.len()).sum()
    }
}

/// Returns the number of the output that a virtual path names.
pub(crate) fn output_number(path: &str) -> Option<u64> {
    let number = path.strip_prefix(DIRECTORY)?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    number.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_outputs_of_a_session_are_kept() {
        let outputs = KeptOutputs::default();
        for number in 1..=6_u64 {
            let path = outputs.keep("a", &format!("{number}")).unwrap();
            assert_eq!(output_number(&path), Some(number));
        }
        let kept = |session: &str| -> Vec<u64> {
            let numbers = (0..20).filter(|number| outputs.get(session, *number).is_some());
            numbers.collect()
        };
        assert_eq!(kept("a"), [3, 4, 5, 6]);
        assert_eq!(outputs.get("a", 5).as_deref(), Some("5"));
        // Numbers are those of the session, and another one has none of it.
        assert_eq!(kept("b"), [0_u64; 0]);
        let large = "x".repeat(MAX_SESSION_BYTES);
        assert_eq!(
            outputs.keep("a", &large).as_deref(),
            Some("/program-output/7")
        );
        assert_eq!(kept("a"), [7]);
        assert_eq!(outputs.keep("a", &format!("{large}x")), None);
        assert_eq!(kept("a"), [7]);
        outputs.remove("a");
        assert_eq!(kept("a"), [0_u64; 0]);
        assert_eq!(lock(&outputs.0).bytes, 0);
    }

    #[test]
    fn all_sessions_together_have_a_bound() {
        let outputs = KeptOutputs::default();
        let large = "x".repeat(MAX_SESSION_BYTES);
        let names: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let kept = names
            .iter()
            .filter(|name| outputs.keep(name, &large).is_some());
        assert_eq!(kept.count(), MAX_BYTES / MAX_SESSION_BYTES);
        // A session that has a place can use it again.
        assert!(outputs.keep("0", &large).is_some());
        assert!(outputs.keep("39", "x").is_none());
        outputs.remove("0");
        assert!(outputs.keep("39", "x").is_some());
    }

    #[test]
    fn only_paths_of_outputs_have_a_number() {
        for path in [
            "/program-output/",
            "/program-output/0",
            "/program-output/01",
            "/program-output/+1",
            "/program-output/-1",
            "/program-output/1/",
            "/program-output/1/../2",
            "/program-output/99999999999999999999999",
            "program-output/1",
            "/workspace/program-output/1",
        ] {
            assert_eq!(output_number(path), None, "{path}");
        }
        assert_eq!(output_number("/program-output/12"), Some(12));
    }
}
