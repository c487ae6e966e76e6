//! Resources that the suite expects by name.

use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::content::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(crate) fn all() -> Vec<Resource> {
    let resource =
        |uri: &str, name: &str, mime_type: &str| Resource::new(uri, name).with_mime_type(mime_type);
    vec![
        resource(TEXT, "static-text", "text/plain"),
        resource(BINARY, "static-binary", "image/png"),
        resource(WATCHED, "watched-resource", "text/plain"),
    ]
}

pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new("test://template/{id}/data", "template")
        .with_mime_type("application/json")
}

/// Reads a resource, if it is one of these.
pub(crate) fn read(uri: &str) -> Option<ReadResourceResult> {
    let contents = match uri {
        TEXT => ResourceContents::text("This is the content of the static text resource.", uri)
            .with_mime_type("text/plain"),
        BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        WATCHED => ResourceContents::text("Unchanged.", uri).with_mime_type("text/plain"),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")
                .filter(|id| !id.contains('/'))?;
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Some(ReadResourceResult::new(vec![contents]))
}

/// Returns true for the resource that can be subscribed to. It never changes, so subscriptions need
/// no state.
pub(crate) fn is_watched(uri: &str) -> bool {
    uri == WATCHED
}
