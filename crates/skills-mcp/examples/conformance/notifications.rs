//! Tools that send notifications while they run.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion, Tool,
};
use rmcp::service::RequestContext;
use serde_json::json;

use crate::content::tool;

/// Time between two notifications.
const STEP: Duration = Duration::from_millis(50);

/// Returns whether a request uses protocol version 2026-07-28 or later.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

pub(crate) fn tools() -> Vec<Tool> {
    let tools = [
        ("test_tool_with_logging", "Logs three messages"),
        (
            "test_logging_tool",
            "Logs a message if the request allows it",
        ),
        ("test_tool_with_progress", "Reports progress"),
    ];
    tools
        .map(|(name, description)| tool(name, description, json!({})))
        .into()
}

/// Calls a tool for a client with a minimum log level.
pub(crate) async fn call(
    name: &str,
    level: LoggingLevel,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResult> {
    match name {
        "test_tool_with_logging" | "test_logging_tool" => log(level, context).await,
        "test_tool_with_progress" => progress(context).await,
        _ => return None,
    }
    Some(CallToolResult::success(vec![ContentBlock::text("Done.")]))
}

async fn log(level: LoggingLevel, context: &RequestContext<RoleServer>) {
    // Since 2026-07-28, each request carries its own log level.
    let level = if is_stateless(context) {
        context.meta.log_level()
    } else {
        Some(level)
    };
    let is_wanted =
        level.is_some_and(|level| matches!(level, LoggingLevel::Debug | LoggingLevel::Info));
    for line in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        if is_wanted {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line));
            let _ = context.peer.notify_logging_message(message).await;
        }
        tokio::time::sleep(STEP).await;
    }
}

async fn progress(context: &RequestContext<RoleServer>) {
    for percent in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let _ = context
                .peer
                .notify_progress(ProgressNotificationParam::new(token, percent).with_total(100.0))
                .await;
        }
        tokio::time::sleep(STEP).await;
    }
}
