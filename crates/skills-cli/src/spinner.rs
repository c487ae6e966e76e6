//! A line on a terminal about what is going on.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Interval at which the line is drawn while nothing happens.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// One line on standard error, which is removed before anything else is printed.
#[derive(Clone)]
pub(crate) struct Spinner {
    template: &'static str,
    shown: Arc<Mutex<Option<ProgressBar>>>,
}

impl Spinner {
    /// Returns a line that is not shown yet, or `None` if standard error is not a terminal.
    pub(crate) fn on_terminal(template: &'static str) -> Option<Self> {
        io::stderr().is_terminal().then(|| Self {
            template,
            shown: Arc::default(),
        })
    }

    /// Shows the line with a message and a position.
    pub(crate) fn show(&self, message: String, position: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = shown.get_or_insert_with(|| new_bar(self.template));
        bar.set_message(message);
        bar.set_position(position);
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = shown.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    // Its thread panics if the system does not start it; without one the bar moves with the work.
    if skills_threads::check(1).is_ok() {
        bar.enable_steady_tick(TICK_INTERVAL);
    }
    bar
}
