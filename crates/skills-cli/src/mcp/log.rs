//! What the server says of itself, on standard error.

use clap::ValueEnum;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

/// How it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line of text each
    Text,
    /// A JSON object each
    Json,
}

/// Writes what is logged to standard error. The protocol's library shows whole messages from `info`
/// on and takes each client that goes for an error, so it tells its warnings to whoever wants to
/// debug, and nothing else.
pub(crate) fn init_stderr_logging(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let library = if level == LevelFilter::DEBUG {
        LevelFilter::WARN
    } else {
        LevelFilter::OFF
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
    // A second server in one process keeps the first one's log.
    let _ = tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .try_init();
}
