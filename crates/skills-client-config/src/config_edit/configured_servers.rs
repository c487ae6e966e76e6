//! The servers that a client's file has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::client::ServerClient;
use crate::error::EditError;

/// The servers in the configuration of a client, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredServers {
    /// The name of each entry and the key of its server, if it has a known form.
    servers: BTreeMap<String, Option<String>>,
}

impl ConfiguredServers {
    /// Reads the table of servers, and that of newer versions of the client.
    pub(super) fn read(client: ServerClient, document: &Value) -> Result<Self, EditError> {
        let mut found = Self::default();
        let Some(servers) = table(document, client.format.section)? else {
            return Ok(found);
        };
        found.add(client, servers);
        if let Some(nested) = client.nested()
            && let Some(Value::Object(servers)) = servers.get(nested.format.section)
        {
            found.add(nested, servers);
        }
        Ok(found)
    }

    /// Returns true if an entry has this name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.servers.contains_key(name)
    }

    /// Returns true if an entry of any name is for the server with this key.
    pub(super) fn has_key(&self, key: &str) -> bool {
        let mut keys = self.servers.values().flatten();
        keys.any(|known| known == key)
    }

    pub(crate) fn keys(self) -> BTreeSet<String> {
        self.servers.into_values().flatten().collect()
    }

    fn add(&mut self, client: ServerClient, servers: &Map<String, Value>) {
        for (name, entry) in servers {
            let key = entry.as_object().and_then(|entry| client.key_of(entry));
            self.servers.insert(name.clone(), key);
        }
    }
}

/// Returns the table of a key. Nothing and null are no table.
fn table<'a>(document: &'a Value, key: &str) -> Result<Option<&'a Map<String, Value>>, EditError> {
    let top = match document {
        Value::Null => return Ok(None),
        Value::Object(top) => top,
        _ => return Err(EditError::NotAnObject),
    };
    match top.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(servers)) => Ok(Some(servers)),
        Some(_) => Err(EditError::NotATable {
            key: key.to_owned(),
        }),
    }
}
