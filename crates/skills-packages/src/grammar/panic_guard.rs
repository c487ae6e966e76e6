//! Catches panics of parsers.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a parser; `None` if it panics, of which nothing is printed.
///
/// What the parser has changed before that is incomplete, so the caller must drop it. A fuzzer does
/// see the panic: the checks of the input have to exclude it. A build with `panic = "abort"` prints
/// the message and ends.
///
/// ```
/// use skills_packages::catch_panic;
///
/// assert_eq!(catch_panic(|| "1".parse::<u8>().ok()), Some(Some(1)));
/// assert_eq!(catch_panic(|| "é".split_at(1).0.len()), None);
/// ```
pub fn catch_panic<T>(parse: impl FnOnce() -> T) -> Option<T> {
    if cfg!(any(fuzzing, panic = "abort")) {
        return Some(parse());
    }
    silence_guarded_panics();
    let was_guarded = IS_GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(parse));
    IS_GUARDED.set(was_guarded);
    result.ok()
}

/// Replaces the panic hook of the process by one that calls it for all other panics.
fn silence_guarded_panics() {
    static REPLACED: Once = Once::new();
    // A thread that panics cannot replace the hook; a later call does.
    if thread::panicking() {
        return;
    }
    REPLACED.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                hook(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_guarded_panic_is_caught() {
        let inner = catch_panic(|| catch_panic(|| panic!("inner")).is_none());
        assert_eq!(inner, Some(true));
        assert!(!IS_GUARDED.get());
        assert_eq!(catch_panic::<()>(|| panic!("outer")), None);
        assert!(!IS_GUARDED.get());
        assert!(panic::catch_unwind(|| panic!("not guarded")).is_err());
    }
}
