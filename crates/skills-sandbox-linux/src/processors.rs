//! The processors that a run may use.

use std::mem::size_of;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use libc::cpu_set_t;
use skills_policy::ResourceLimits;

/// The processors of all runs so far, counted several times where runs share them.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// The processors of a run.
#[derive(Clone, Copy)]
pub(crate) struct Processors {
    pub(crate) count: usize,
    /// The set of them, if the host process may use more.
    pub(crate) set: Option<cpu_set_t>,
}

impl Processors {
    /// Returns those of the host process, as far as a thread for each of them fits twice into the
    /// limit of processes and threads.
    pub(crate) fn of_run(limits: &ResourceLimits) -> Self {
        let most = usize::try_from(limits.processes / 2).unwrap_or(usize::MAX);
        let available = available_parallelism().map_or(1, usize::from);
        let count = available.min(most.max(1));
        Self {
            count,
            set: own_set().and_then(|own| part_of(&own, count)),
        }
    }
}

/// Returns `count` processors of a set. `None` if it has no more. Runs of one host process start
/// where the one before ended, and those of several host processes at different ones.
#[expect(unsafe_code, reason = "sets of processors are arrays of bits")]
fn part_of(own: &cpu_set_t, count: usize) -> Option<cpu_set_t> {
    // SAFETY: numbers below the size of the set are valid.
    let numbers = 0..size_of::<cpu_set_t>() * 8;
    let mut numbers: Vec<usize> = numbers
        .filter(|number| unsafe { libc::CPU_ISSET(*number, own) })
        .collect();
    if numbers.len() <= count {
        return None;
    }
    let started = STARTED.fetch_add(count, Ordering::Relaxed);
    let start = (process::id() as usize).wrapping_add(started) % numbers.len();
    numbers.rotate_left(start);
    // SAFETY: zeros are an empty set.
    let mut part: cpu_set_t = unsafe { std::mem::zeroed() };
    for number in numbers.into_iter().take(count) {
        // SAFETY: as above.
        unsafe { libc::CPU_SET(number, &mut part) };
    }
    Some(part)
}

/// Returns the processors that this thread may use. `None` if the machine has more than fit.
#[expect(unsafe_code, reason = "no wrapper is compiled in")]
fn own_set() -> Option<cpu_set_t> {
    // SAFETY: zeros are an empty set, and the kernel writes at most the passed size.
    unsafe {
        let mut own: cpu_set_t = std::mem::zeroed();
        let result = libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &raw mut own);
        (result == 0).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "sets of processors are arrays of bits")]
    fn runs_of_one_host_process_start_at_different_processors() {
        // SAFETY: zeros are an empty set, and the numbers are below the size of the set.
        let (own, numbers) = unsafe {
            let mut own: cpu_set_t = std::mem::zeroed();
            (0..4).for_each(|number| libc::CPU_SET(number, &mut own));
            let part_of = |_| part_of(&own, 1).unwrap();
            let parts: Vec<cpu_set_t> = (0..4).map(part_of).collect();
            let is_used = |number: &usize| parts.iter().any(|part| libc::CPU_ISSET(*number, part));
            (own, (0..4).filter(is_used).count())
        };
        assert_eq!(numbers, 4);
        assert!(part_of(&own, 4).is_none());
    }
}
