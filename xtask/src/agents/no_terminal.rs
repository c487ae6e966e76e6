//! The terminal of systems that have none like those of Unix.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

pub(crate) struct Terminal;

impl Terminal {
    pub(crate) fn start(_command: &Command) -> Result<Self> {
        bail!("agents at a terminal need Unix")
    }

    pub(crate) fn update(&mut self, _wait: Duration) -> bool {
        false
    }

    pub(crate) fn text(&self) -> String {
        String::new()
    }

    pub(crate) fn type_keys(&mut self, _keys: &str) {}

    pub(crate) fn leader(&self) -> u32 {
        0
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(())
    }
}
