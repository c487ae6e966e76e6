//! Logging of the server to standard error.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Parses the most verbose level that is logged.
pub(super) fn level_parser() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["off", "error", "warn", "info", "debug"])
        .try_map(|level| level.parse::<LevelFilter>())
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text per event
    Text,
    /// One JSON object per event
    Json,
}

/// Initializes logging to standard error. rmcp logs whole messages from `info` on and reports each
/// disconnected client as an error, so only its warnings are logged, and only at level `debug`.
pub(super) fn init_stderr_logging(level: LevelFilter, format: LogFormat) {
    let library = match level {
        LevelFilter::DEBUG => LevelFilter::WARN,
        _ => LevelFilter::OFF,
    };
    let filter = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("rmcp", library)
        .with_targets(["skills_mcp", "skills_tools"].map(|ours| (ours, level)));
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let layer = match format {
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::Json => layer.json().boxed(),
    };
    // A second server in the same process keeps the logger of the first.
    let _ = tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .try_init();
}
