//! Maps on several threads, with results that do not depend on their number.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::thread_count::{ThreadCount, default_threads};

/// The number of items that a thread of [`map`] takes at a time; small, so that all threads end together.
const BLOCK_ITEMS: usize = 16;
/// The minimum number of items for each thread; an item costs system calls.
const MIN_ITEMS_PER_THREAD: usize = 64;

/// Calls `work` for each item, on all processors (at most eight), and returns the results in the order
/// of the items. For work that takes much longer than to start a thread. Panics of `work` are passed
/// on.
///
/// ```
/// let lengths = skills_discovery::parallel_map(&["a", "bc"], |text| text.len());
/// assert_eq!(lengths, [1, 2]);
/// ```
pub fn parallel_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = default_threads().min(items.len());
    let blocks = map_blocks(items, threads, 1, &work);
    blocks
        .into_iter()
        .flat_map(|(_, results)| results)
        .collect()
}

/// Calls `work` for each item and returns the results in the order of the items. If there are too
/// few items for several threads, `work` runs lazily on this thread, when a result is consumed.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: ThreadCount,
    work: impl Fn(&T) -> R + Sync,
) -> impl Iterator<Item = R> {
    let threads = match items.len() / MIN_ITEMS_PER_THREAD {
        few @ ..=1 => few,
        many => threads.get().min(many),
    };
    let (blocks, lazy_items) = if threads > 1 {
        (map_blocks(items, threads, BLOCK_ITEMS, &work), [].iter())
    } else {
        (Vec::new(), items.iter())
    };
    blocks
        .into_iter()
        .flat_map(|(_, results)| results)
        .chain(lazy_items.map(work))
}

/// Returns the results of each block with the index of its first item, in order.
fn map_blocks<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    block_items: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<(usize, Vec<R>)> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        loop {
            // Blocks are handed out as threads become free, since items differ in cost.
            let start = next.fetch_add(block_items, Ordering::Relaxed);
            let Some(block) = items
                .get(start..items.len().min(start + block_items))
                .filter(|block| !block.is_empty())
            else {
                return results;
            };
            results.push((start, block.iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut blocks = thread::scope(|scope| {
        let workers = skills_threads::spawn_scoped(scope, threads.saturating_sub(1), run);
        let mut blocks = run();
        for worker in workers {
            match worker.join() {
                Ok(results) => blocks.extend(results),
                // A panic of `work` must not become a partial result.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        blocks
    });
    // Threads finish in any order.
    blocks.sort_unstable_by_key(|(start, _)| *start);
    blocks
}
