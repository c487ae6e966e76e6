//! Detects from outside of a sandbox whether a daemon lives, without a clock.

use std::time::Duration;

use nix::sys::stat::Mode;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::time::{sleep, timeout};

use crate::skill::Skill;

/// The timeout of a failing test.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A named pipe in a workspace, which a daemon opens for writing, writes to, and holds open for as
/// long as it lives.
pub(crate) struct LifetimePipe {
    pipe: Receiver,
    is_opened: bool,
}

impl LifetimePipe {
    /// Creates the pipe `alive` in the workspace of a skill.
    pub(crate) fn new(skill: &Skill) -> Self {
        Self::named(skill, "alive")
    }

    /// Creates a pipe of this name in the workspace of a skill.
    pub(crate) fn named(skill: &Skill, name: &str) -> Self {
        let path = skill.path("workspace").join(name);
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        Self {
            pipe: OpenOptions::new().open_receiver(path).unwrap(),
            is_opened: false,
        }
    }

    /// Waits until a daemon has written to the pipe; returns `false` if none does.
    pub(crate) async fn is_opened(&mut self) -> bool {
        let mut beat = [0; 64];
        let opened = async {
            // Until the first daemon opens it, reading the pipe may return 0 bytes.
            while self.pipe.read(&mut beat).await.unwrap() == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        self.is_opened = self.is_opened || timeout(TEST_TIMEOUT, opened).await.is_ok();
        self.is_opened
    }

    /// Returns whether a daemon has written to the pipe so far.
    pub(crate) fn was_opened(&mut self) -> bool {
        self.is_opened = self.is_opened
            || self
                .pipe
                .try_read(&mut [0; 64])
                .is_ok_and(|count| count > 0);
        self.is_opened
    }

    /// Waits until a daemon has opened the pipe and no process holds it any more, which is when all
    /// processes that could have exited; returns `false` if one survives, or none started.
    pub(crate) async fn is_released(&mut self) -> bool {
        let mut rest = Vec::new();
        let is_at_end = timeout(TEST_TIMEOUT, self.pipe.read_to_end(&mut rest))
            .await
            .is_ok_and(|end| end.is_ok());
        is_at_end && (self.is_opened || !rest.is_empty())
    }
}
