//! Edits of a client's configuration, as pure functions from text to text.

mod configured_servers;
mod json;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use std::collections::BTreeSet;

use skills_clients::ConfigLanguage;

use self::configured_servers::ConfiguredServers;
use crate::client::ServerClient;
use crate::diff;
use crate::error::EditError;
use crate::server_entry::{EntryChange, ServerEntry};

/// Byte order mark, which some Windows editors write at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The new content of a file, and the kind of change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEdit {
    pub(crate) text: String,
    pub(crate) change: EntryChange,
}

/// The new content of a file, and the kind of change of each entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEdits {
    pub(crate) text: String,
    pub(crate) changes: Vec<EntryChange>,
}

/// The treatment of entries that exist already.
#[derive(Debug)]
pub(crate) enum OnExisting {
    /// The one of the same name is updated or replaced.
    Update,
    /// All are kept, and none is added for a server that the file has, or that is configured
    /// elsewhere: keys as of [`configured_servers`](crate::configured_servers).
    Keep { elsewhere: BTreeSet<String> },
}

/// Adds or updates entries, one after another; see [`plan_edit`].
///
/// # Errors
/// Fails like [`plan_edit`] if one of the edits does.
pub(crate) fn plan_edits(
    client: ServerClient,
    existing: Option<&str>,
    entries: &[ServerEntry],
    on_existing: &OnExisting,
) -> Result<ConfigEdits, EditError> {
    let mut text = existing.map(str::to_owned);
    let mut changes = Vec::new();
    for entry in entries {
        if let OnExisting::Keep { elsewhere } = on_existing {
            let present = servers(client, text.as_deref())?;
            let key = entry.key();
            if present.has_key(&key) || elsewhere.contains(&key) {
                changes.push(EntryChange::Unchanged);
                continue;
            }
            if present.has_name(&entry.name) {
                changes.push(EntryChange::NameTaken);
                continue;
            }
        }
        let edit = plan_edit(client, text.as_deref(), entry)?;
        changes.push(edit.change);
        text = Some(edit.text);
    }
    Ok(ConfigEdits {
        text: text.unwrap_or_default(),
        changes,
    })
}

/// Reads the servers in the text of a client's file. `None` is a file that does not exist.
///
/// # Errors
/// Fails if the text is invalid, or if the servers are not a table.
pub(crate) fn servers(
    client: ServerClient,
    existing: Option<&str>,
) -> Result<ConfiguredServers, EditError> {
    let whole = existing.unwrap_or_default();
    let text = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole);
    let document = match client.format.language {
        ConfigLanguage::Json => json::parse_json(text),
        ConfigLanguage::Toml => toml::parse_toml(text),
        ConfigLanguage::Yaml => yaml::parse_yaml(text),
    }?;
    ConfiguredServers::read(client, &document)
}

/// Adds or updates an entry in the text of a client's file. `None` is a file that does not exist.
/// Bytes outside the entry are preserved.
///
/// # Errors
/// Fails if the text is invalid, or if the servers are not a table.
pub(crate) fn plan_edit(
    client: ServerClient,
    existing: Option<&str>,
    entry: &ServerEntry,
) -> Result<ConfigEdit, EditError> {
    let whole = existing.unwrap_or_default();
    let text = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole);
    let (edited, change) = edit_text(client, text, entry)?;
    if change == EntryChange::Unchanged {
        let text = whole.to_owned();
        return Ok(ConfigEdit { text, change });
    }
    let mark = &whole[..whole.len() - text.len()];
    let edited = diff::merge_line_ends(text, &edited);
    // The result is parsed before it is written: a client must never get an unusable file.
    match edit_text(client, &edited, entry) {
        Ok((_, EntryChange::Unchanged)) => {
            let text = format!("{mark}{edited}");
            Ok(ConfigEdit { text, change })
        }
        _ => Err(EditError::UnsupportedLayout),
    }
}

fn edit_text(
    client: ServerClient,
    text: &str,
    entry: &ServerEntry,
) -> Result<(String, EntryChange), EditError> {
    match client.format.language {
        ConfigLanguage::Json => json::edit_json(text, client, entry),
        ConfigLanguage::Toml => toml::edit_toml(text, client, entry),
        ConfigLanguage::Yaml => yaml::edit_yaml(text, client, entry),
    }
}
