//! Tools that tell the client something while they work.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, Tool,
};
use rmcp::service::RequestContext;
use serde_json::json;

use crate::content::tool;
use crate::fixtures::is_stateless;

/// How long the tools work between two things that they tell.
const STEP: Duration = Duration::from_millis(50);

pub(crate) fn tools() -> Vec<Tool> {
    let tools = [
        (
            "test_tool_with_logging",
            "Writes three lines to the client's log",
        ),
        (
            "test_logging_tool",
            "Writes to the client's log if the request allows it",
        ),
        ("test_tool_with_progress", "Tells how it goes"),
    ];
    tools
        .map(|(name, description)| tool(name, description, json!({})))
        .into()
}

/// Calls a tool for a client that wants to see its log from a level on.
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
    Some(CallToolResult::success(vec![ContentBlock::text(
        "It is done.",
    )]))
}

async fn log(level: LoggingLevel, context: &RequestContext<RoleServer>) {
    // Since 2026-07-28 each request says itself what it wants to see.
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
