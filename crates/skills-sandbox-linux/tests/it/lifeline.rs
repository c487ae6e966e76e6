//! Tells from outside whether a daemon lives, without a clock.

use std::time::Duration;

use nix::sys::stat::Mode;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::time::{sleep, timeout};

use crate::skill::Skill;

/// Nothing waits this long but a test that fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A named pipe in a workspace, which a daemon opens for writing, writes to, and holds open for as
/// long as it lives.
pub(crate) struct Lifeline {
    pipe: Receiver,
    is_opened: bool,
}

impl Lifeline {
    /// Makes the pipe `alive` in the workspace of a skill.
    pub(crate) fn new(skill: &Skill) -> Self {
        Self::named(skill, "alive")
    }

    /// Makes a pipe of this name in the workspace of a skill.
    pub(crate) fn named(skill: &Skill, name: &str) -> Self {
        let path = skill.path("workspace").join(name);
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        Self {
            pipe: OpenOptions::new().open_receiver(path).unwrap(),
            is_opened: false,
        }
    }

    /// Waits until a daemon has written to the pipe; returns `false` when none does.
    pub(crate) async fn is_opened(&mut self) -> bool {
        let mut beat = [0; 64];
        let opened = async {
            // Before the first daemon opens it, the pipe may read as at its end.
            while self.pipe.read(&mut beat).await.unwrap() == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        self.is_opened = self.is_opened || timeout(PATIENCE, opened).await.is_ok();
        self.is_opened
    }

    /// Says whether a daemon has written to the pipe by now.
    pub(crate) fn was_opened(&mut self) -> bool {
        self.is_opened = self.is_opened
            || self
                .pipe
                .try_read(&mut [0; 64])
                .is_ok_and(|count| count > 0);
        self.is_opened
    }

    /// Waits until a daemon has opened the pipe and nothing holds it any more, which is when every
    /// process that could is dead; returns `false` when one lives on, or none ever lived.
    pub(crate) async fn is_released(&mut self) -> bool {
        let mut rest = Vec::new();
        let is_at_end = timeout(PATIENCE, self.pipe.read_to_end(&mut rest))
            .await
            .is_ok_and(|end| end.is_ok());
        is_at_end && (self.is_opened || !rest.is_empty())
    }
}
