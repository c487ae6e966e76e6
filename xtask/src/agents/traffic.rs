//! Records and reads the messages between an agent and the server.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::dialect::items;

const FROM_AGENT: &str = "from-agent";
const FROM_SERVER: &str = "from-server";
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// The messages of all connections of a session; some agents connect several times.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    from_agent: Vec<Value>,
    from_server: Vec<Value>,
}

/// Writes a program to `path` that runs `skills` and records its input and output in the directory
/// of `path`.
pub(crate) fn write_recorder(path: &Path, skills: &Path) -> Result<()> {
    // The process id separates connections.
    let script = format!(
        "#!/bin/sh\n\
         base=$(dirname \"$0\")\n\
         tee \"$base/{FROM_AGENT}.$$\" | '{}' \"$@\" 2>>\"$base/errors.txt\" | tee \"$base/{FROM_SERVER}.$$\"\n",
        skills.display()
    );
    fs::write(path, script)?;
    make_executable(path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<()> {
    anyhow::bail!("the recorder is a shell script")
}

/// Returns whether the server with records in `directory` has sent its list of tools.
pub(crate) fn has_listed_tools(directory: &Path) -> bool {
    let traffic = Traffic::read(directory).unwrap_or_default();
    let mut messages = traffic.from_server.iter();
    messages.any(|message| message["result"]["tools"].is_array())
}

impl Traffic {
    /// Reads the records in a directory.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let mut paths = fs::read_dir(directory)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        paths.sort();
        let mut traffic = Self::default();
        for path in paths {
            let list = match path.file_stem().and_then(|stem| stem.to_str()) {
                Some(FROM_AGENT) => &mut traffic.from_agent,
                Some(FROM_SERVER) => &mut traffic.from_server,
                _ => continue,
            };
            let text = fs::read_to_string(&path)?;
            // The last line is incomplete if the server was killed.
            list.extend(
                text.lines()
                    .filter_map(|line| serde_json::from_str(line).ok()),
            );
        }
        Ok(traffic)
    }

    /// Returns the protocol version that agent and server use.
    pub(crate) fn protocol(&self) -> Option<&str> {
        let stateless = self
            .from_agent
            .iter()
            .find_map(|message| message["params"]["_meta"][VERSION_META].as_str());
        let negotiated = || {
            self.from_server
                .iter()
                .find_map(|message| message["result"]["protocolVersion"].as_str())
        };
        stateless.or_else(negotiated)
    }

    /// Returns the instructions of the server.
    pub(crate) fn instructions(&self) -> Option<&str> {
        self.from_server
            .iter()
            .find_map(|message| message["result"]["instructions"].as_str())
    }

    /// Returns how often the server asked the user of the agent.
    pub(crate) fn questions(&self) -> usize {
        self.from_server
            .iter()
            .filter(|message| {
                message["method"] == "elicitation/create"
                    || message["result"]["resultType"] == "input_required"
            })
            .count()
    }

    /// Returns the texts of the results of tool calls as the server sent them, in their order and
    /// without links to files.
    pub(crate) fn results(&self) -> Vec<String> {
        self.from_server
            .iter()
            .filter(|message| message["result"].get("isError").is_some())
            .map(|message| {
                let texts = items(&message["result"]["content"])
                    .filter_map(|content| content["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            })
            .collect()
    }
}
