//! Shows on a terminal what is fetched.

use std::io::{self, IsTerminal};
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
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} fetching {msg} {bytes}") {
        bar.set_style(style);
    }
    fetcher.on_progress(move |progress| match progress {
        FetchProgress::Received { from, bytes } => {
            bar.enable_steady_tick(TICK_INTERVAL);
            // Redirects are addresses that a server chose.
            bar.set_message(line(from));
            bar.set_position(bytes);
        }
        _ => {
            bar.disable_steady_tick();
            bar.finish_and_clear();
            bar.reset();
        }
    })
}
