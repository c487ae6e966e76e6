//! Shows on a terminal what is fetched.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use skills_install::{FetchProgress, Fetcher};

use crate::output::line;

/// How often the line is drawn while nothing is received.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// Shows one line while a source is fetched, if standard error is a terminal. It is removed before
/// anything else is printed.
pub(super) fn show(fetcher: Fetcher) -> Fetcher {
    if !io::stderr().is_terminal() {
        return fetcher;
    }
    let shown: Mutex<Option<ProgressBar>> = Mutex::default();
    fetcher.on_progress(move |progress| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            FetchProgress::Received { from, bytes } => {
                let bar = shown.get_or_insert_with(new_bar);
                // Redirects are addresses that a server chose.
                bar.set_message(line(from));
                bar.set_position(bytes);
            }
            _ => {
                if let Some(bar) = shown.take() {
                    bar.finish_and_clear();
                }
            }
        }
    })
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} fetching {msg} {bytes}") {
        bar.set_style(style);
    }
    // Its thread panics if the system does not start it; without one the bar moves with the work.
    if skills_threads::check(1).is_ok() {
        bar.enable_steady_tick(TICK_INTERVAL);
    }
    bar
}
