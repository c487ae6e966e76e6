//! Does the same with many things on several threads, and keeps their order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many things a thread takes at a time: few, so that all end together.
const BLOCK_ITEMS: usize = 16;
/// How many things are worth a thread of their own.
const MIN_ITEMS_PER_THREAD: usize = 64;
/// How many things are worth a thread, when each is only a little work in memory.
pub(crate) const MIN_CHEAP_ITEMS_PER_THREAD: usize = 4_096;

/// How many threads are used unless somebody says: as many as there are cores, at most eight.
pub(crate) fn default_threads() -> usize {
    const MAX_THREADS: usize = 8;
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS)
    })
}

/// Calls `work` on each of `items` and gives the results in their order. Few items are done on this
/// thread, when they are asked for.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> impl Iterator<Item = R> {
    let threads = threads.min(items.len() / MIN_ITEMS_PER_THREAD);
    let (now, later) = if threads > 1 {
        (map_blocks(items, threads, &work), [].iter())
    } else {
        (Vec::new(), items.iter())
    };
    now.into_iter()
        .flat_map(|(_, results)| results)
        .chain(later.map(work))
}

fn map_blocks<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<(usize, Vec<R>)> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(BLOCK_ITEMS, Ordering::Relaxed);
            let Some(block) = items
                .get(start..items.len().min(start + BLOCK_ITEMS))
                .filter(|block| !block.is_empty())
            else {
                return done;
            };
            done.push((start, block.iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut blocks = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut blocks = run();
        for other in others {
            match other.join() {
                Ok(done) => blocks.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        blocks
    });
    blocks.sort_unstable_by_key(|(start, _)| *start);
    blocks
}

/// Sorts `items`; many of them by halves, at the same time.
pub(crate) fn sort<T: Ord + Send>(items: &mut [T], threads: usize) {
    if threads > 1 && items.len() >= MIN_CHEAP_ITEMS_PER_THREAD {
        let (left, right) = items.split_at_mut(items.len() / 2);
        thread::scope(|scope| {
            scope.spawn(|| left.sort_unstable());
            right.sort_unstable();
        });
        // Two runs are merged in one pass.
        items.sort();
    } else {
        items.sort_unstable();
    }
}
