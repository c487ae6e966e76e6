//! The servers that a client's file has.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use skills_runtime::prompt::InstalledServers;

use crate::client_config::client_spec::ClientSpec;
use crate::client_config::server_entry::ConfigEditError;

/// The servers in the configuration of a client, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredServers {
    /// The name of each entry and the key of its server, if it has a known form.
    servers: BTreeMap<String, Option<String>>,
}

impl ConfiguredServers {
    /// Reads the table of servers, and that of newer versions of the client.
    pub(super) fn read(client: &ClientSpec, document: &Value) -> Result<Self, ConfigEditError> {
        let mut found = Self::default();
        let Some(servers) = table(document, client.section)? else {
            return Ok(found);
        };
        found.add(client, servers);
        if let Some(nested) = client.nested
            && let Some(Value::Object(servers)) = servers.get(nested.section)
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

    /// Returns the servers without their names.
    pub(crate) fn keys(self) -> InstalledServers {
        self.servers.into_values().flatten().collect()
    }

    fn add(&mut self, client: &ClientSpec, servers: &Map<String, Value>) {
        for (name, entry) in servers {
            let key = entry.as_object().and_then(|entry| client.key_of(entry));
            self.servers.insert(name.clone(), key);
        }
    }
}

/// Returns the table of a key. Nothing and null are no table.
fn table<'a>(
    document: &'a Value,
    key: &str,
) -> Result<Option<&'a Map<String, Value>>, ConfigEditError> {
    let top = match document {
        Value::Null => return Ok(None),
        Value::Object(top) => top,
        _ => return Err(ConfigEditError::NotATable { key: None }),
    };
    match top.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(servers)) => Ok(Some(servers)),
        Some(_) => Err(ConfigEditError::NotATable {
            key: Some(key.to_owned()),
        }),
    }
}
