//! Catches panics of parsers.

use std::any::Any;
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
    match result.map_err(<Box<dyn Any + Send>>::downcast::<Unguarded>) {
        Ok(value) => Some(value),
        Err(Err(_)) => None,
        Err(Ok(unguarded)) => unguarded.resume(),
    }
}

/// Calls a function that a guarded parser has to call, and that is not a part of it. A panic of the
/// function is printed, and [`catch_panic`] does not catch it.
///
/// ```should_panic
/// use skills_packages::{catch_panic, outside_guard};
///
/// catch_panic(|| outside_guard(|| panic!("not of the parser")));
/// ```
pub fn outside_guard<T>(function: impl FnOnce() -> T) -> T {
    let was_guarded = IS_GUARDED.replace(false);
    let result = panic::catch_unwind(AssertUnwindSafe(function));
    IS_GUARDED.set(was_guarded);
    result.unwrap_or_else(|payload| Unguarded(payload).resume())
}

/// The payload of a panic that is not caught.
struct Unguarded(Box<dyn Any + Send>);

impl Unguarded {
    /// Continues the panic, marked as long as there is a guard.
    fn resume(self) -> ! {
        if IS_GUARDED.get() {
            panic::resume_unwind(Box::new(self))
        }
        panic::resume_unwind(self.0)
    }
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

    #[test]
    fn a_panic_outside_the_guard_is_not_caught() {
        let nested = || catch_panic(|| catch_panic(|| outside_guard(|| panic!("not guarded"))));
        let payload = panic::catch_unwind(nested).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"not guarded"));
        assert!(!IS_GUARDED.get());
        let guarded_again = catch_panic(|| outside_guard(|| catch_panic(|| panic!("guarded"))));
        assert_eq!(guarded_again, Some(None::<()>));
        assert_eq!(catch_panic(|| outside_guard(|| 1)), Some(1));
    }
}
