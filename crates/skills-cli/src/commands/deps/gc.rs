//! `skills deps gc`: removes environments.

use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;
use skills_runtime::deps::Store;

use super::status::{environment_json, environment_line};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::packages::package_config;

/// Remove environments that were not used for long, and interrupted setups
///
/// An environment that a run uses stays. Plans stay, so that the same versions are installed again.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Remove environments that were not used for this long
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = parse_age)]
    older_than: Duration,

    /// Remove the least recently used ones until the others have at most this size in MiB
    #[arg(long, value_name = "MIB")]
    max_size: Option<u64>,

    /// Remove all
    #[arg(long, conflicts_with_all = ["older_than", "max_size"])]
    all: bool,
}

impl Gc {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let Some(config) = package_config(&context.settings()?.packages, &context.environment)?
        else {
            anyhow::bail!(CommandError::input(
                "the settings ignore packages".to_owned()
            ));
        };
        let store: &Store = config.store();
        let now = SystemTime::now();
        let oldest = now
            .checked_sub(self.older_than)
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let collected = if self.all {
            store.collect(now + Duration::from_secs(1), 0)
        } else {
            let bytes = self
                .max_size
                .map_or(u64::MAX, |mib| mib.saturating_mul(1 << 20));
            store.collect(oldest, bytes)
        };
        let collected = collected?;
        if output.is_json() {
            let removed = collected.removed.iter().map(environment_json);
            output.print_json(&json!({
                "removed": removed.collect::<Vec<_>>(),
                "kept": collected.kept,
                "in_use": collected.in_use,
                "interrupted": collected.interrupted,
            }))?;
            return Ok(Exit::Success);
        }
        output.lines(collected.removed.iter().map(environment_line))?;
        let removed = collected.removed.len();
        output.status(&format!(
            "removed {removed} environments and {} interrupted setups, kept {}, in use {}",
            collected.interrupted, collected.kept, collected.in_use
        ));
        Ok(Exit::Success)
    }
}

fn parse_age(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "expected a time such as `30d` or `12w`".to_owned())
}
