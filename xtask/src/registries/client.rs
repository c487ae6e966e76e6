//! A client of the MCP server whose user agrees to everything.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A client on standard input and output. The server ends with it.
pub(super) struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

/// The result of a call, with the questions that the user was asked.
pub(super) struct Answered {
    pub(super) text: String,
    pub(super) questions: Vec<String>,
}

impl Client {
    /// Starts the server and initializes the connection.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let input = server.stdin.take().context("no standard input")?;
        let output = server.stdout.take().context("no standard output")?;
        let mut client = Self {
            server,
            input,
            output: BufReader::new(output),
            last_id: 0,
        };
        client.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "xtask", "version": "0"},
            }),
        )?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Calls `skills_run`.
    pub(super) fn call_skills_run(&mut self, skill: &str, command: &str) -> Result<Answered> {
        let arguments = json!({"name": skill, "command": command});
        let parameters = json!({"name": "skills_run", "arguments": arguments});
        let (result, questions) = self.request("tools/call", parameters)?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true {
            bail!("the call failed: {text}");
        }
        // Nothing but the output is expected of a run that succeeds.
        let output = text.strip_prefix("Program output:\n").unwrap_or(text);
        Ok(Answered {
            text: output.to_owned(),
            questions,
        })
    }

    /// Returns the result of a request, and the questions before it.
    fn request(&mut self, method: &str, parameters: Value) -> Result<(Value, Vec<String>)> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}))?;
        let mut questions = Vec::new();
        loop {
            let message = self.receive()?;
            match message["method"].as_str() {
                Some("elicitation/create") => {
                    let question = message["params"]["message"].as_str();
                    questions.push(question.unwrap_or_default().to_owned());
                    let content = json!({"decision": "allow_once"});
                    self.answer(&message, json!({"action": "accept", "content": content}))?;
                }
                Some(_) if !message["id"].is_null() => self.answer(&message, json!({}))?,
                Some(_) => {}
                None if message["id"] == id => {
                    if let Some(error) = message.get("error") {
                        bail!("`{method}` failed: {error}");
                    }
                    return Ok((message["result"].clone(), questions));
                }
                None => {}
            }
        }
    }

    fn answer(&mut self, request: &Value, result: Value) -> Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the server ended");
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A server that has ended has nothing to kill.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
