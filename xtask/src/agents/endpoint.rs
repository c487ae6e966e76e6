//! A model endpoint on loopback that answers by a plan and keeps what agents send.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Server};

use super::deferral::{self, Deferral};
use super::dialect::{self, Dialect, OfferedTool, Reply, Response};
use super::plan::Plan;

/// Agents send requests at the same time, such as one for the title of a conversation.
const WORKERS: usize = 4;

/// A request that an agent sent to the model.
#[derive(Clone)]
pub(crate) struct ModelRequest {
    pub(crate) body: Value,
    /// The tools of the server under test; deferred ones are left out.
    pub(crate) tools: Vec<OfferedTool>,
    /// The tool results that the model sees.
    pub(crate) results: Vec<String>,
    /// Why the next step of the plan was impossible.
    pub(crate) problem: Option<String>,
    /// Whether the model makes no further call.
    is_last: bool,
    /// Whether the request is part of the plan.
    pub(crate) is_part: bool,
}

/// The running endpoint; dropping it stops it.
pub(crate) struct Endpoint {
    server: Arc<Server>,
    url: String,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    workers: Vec<JoinHandle<()>>,
}

/// What all workers use.
struct Script {
    plan: Plan,
    /// The start of the full names of the server's tools.
    tool_prefix: &'static str,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    deferral: Mutex<Deferral>,
    /// Whether the model searches for the tools if it is not offered them.
    searches: bool,
}

impl Endpoint {
    /// Listens on a free port of loopback and answers by `plan`.
    pub(crate) fn start(plan: Plan, tool_prefix: &'static str, searches: bool) -> Result<Self> {
        let server = Arc::new(
            Server::http("127.0.0.1:0").map_err(|error| anyhow!("cannot listen: {error}"))?,
        );
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Script {
            plan,
            tool_prefix,
            requests: Arc::clone(&requests),
            deferral: Mutex::default(),
            searches,
        });
        let workers = (0..WORKERS)
            .map(|_| {
                let (server, script) = (Arc::clone(&server), Arc::clone(&script));
                std::thread::spawn(move || {
                    // `unblock` makes this an error.
                    while let Ok(request) = server.recv() {
                        script.serve(request);
                    }
                })
            })
            .collect();
        Ok(Self {
            url: format!("http://{}", server.server_addr()),
            server,
            requests,
            workers,
        })
    }

    /// Returns the URL without a path.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns all requests so far, in the order in which they arrived.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns whether the model has answered the result of its last call.
    pub(crate) fn is_complete(&self) -> bool {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .any(|request| request.is_last)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        for _ in &self.workers {
            self.server.unblock();
        }
        for worker in self.workers.drain(..) {
            // A worker that panicked has printed its message.
            drop(worker.join());
        }
    }
}

impl Script {
    fn serve(&self, mut request: Request) {
        let path = request.url().to_owned();
        let mut text = String::new();
        let body = match request.as_reader().read_to_string(&mut text) {
            Ok(_) => serde_json::from_str(&text).unwrap_or(Value::Null),
            Err(_) => Value::Null,
        };
        let api = (*request.method() == Method::Post)
            .then(|| dialect::of_path(&path))
            .flatten();
        let response = match api {
            Some(api) => self.answer(api, &path, body),
            None => other_response(&path),
        };
        let sent = tiny_http::Response::from_string(response.body);
        let header = Header::from_bytes("Content-Type", response.content_type);
        let sent = match header {
            Ok(header) => sent.with_header(header),
            Err(()) => sent,
        };
        // An agent that hangs up gets no response.
        drop(request.respond(sent));
    }

    fn answer(&self, api: &dyn Dialect, path: &str, body: Value) -> Response {
        let offered = api.tools(&body);
        let (tools, results, next) = {
            let mut deferral = self.deferral.lock().unwrap_or_else(PoisonError::into_inner);
            self.next(&mut deferral, &offered, api.results(&body))
        };
        let (reply, problem) = match next {
            Ok(reply) => (reply, None),
            Err(problem) => (Reply::Text(problem.clone()), Some(problem)),
        };
        let is_part = self.is_part(&tools, &offered);
        let is_last = is_part && matches!(reply, Reply::Text(_));
        let response = api.respond(path, &body, &reply);
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(ModelRequest {
                body,
                tools,
                results,
                problem,
                is_part,
                is_last,
            });
        response
    }

    /// Returns the offered tools of the server, the results of the plan, and the reply.
    fn next(
        &self,
        deferral: &mut Deferral,
        offered: &[OfferedTool],
        results: Vec<String>,
    ) -> (Vec<OfferedTool>, Vec<String>, Result<Reply, String>) {
        let is_own = |tool: &&OfferedTool| {
            tool.full_name().starts_with(self.tool_prefix) && !deferral::is_deferred(tool)
        };
        let tools = offered.iter().filter(is_own).cloned().collect::<Vec<_>>();
        let number = results.len();
        let results = deferral.without_searches(results);
        if !self.is_part(&tools, offered) {
            return (tools, results, Ok(Reply::Text("ok".to_owned())));
        }
        let next = self.plan.next(&tools, &results, number).or_else(|problem| {
            let step = self.plan.step_after(&results);
            step.and_then(|step| deferral.next(&self.plan, step, offered, self.tool_prefix, number))
                .ok_or(problem)
        });
        (tools, results, next)
    }

    /// Returns whether a request can be part of the plan: the model has the tools of the server, or
    /// can search for them.
    fn is_part(&self, tools: &[OfferedTool], offered: &[OfferedTool]) -> bool {
        !tools.is_empty() || (self.searches && deferral::offers_search(offered))
    }
}

/// Returns the response to a request that is not for the model: a list of models, or a count of
/// tokens.
fn other_response(path: &str) -> Response {
    let body = if path.contains("count_tokens") {
        json!({"input_tokens": 1})
    } else {
        json!({"object": "list", "data": [], "models": []})
    };
    Response {
        content_type: "application/json",
        body: body.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::super::plan::Step;
    use super::*;

    fn post(endpoint: &Endpoint, path: &str, body: &Value) -> String {
        let address = endpoint.url().trim_start_matches("http://").to_owned();
        let body = body.to_string();
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    #[test]
    fn the_endpoint_answers_by_its_plan_and_keeps_requests() {
        let plan = Plan {
            steps: vec![Step::new("skills_ls", json!({"path": "x"}), "")],
        };
        let endpoint = Endpoint::start(plan, "mcp__skills__", false).unwrap();
        let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
        let offered = json!([tool("Read"), tool("mcp__skills__skills_ls")]);
        let result = json!({"role": "user", "content": [{"type": "tool_result", "content": "a"}]});
        let first = json!({"tools": offered, "messages": []});
        let second = json!({"tools": offered, "messages": [result]});

        assert!(post(&endpoint, "/v1/messages", &json!({"messages": []})).contains("end_turn"));
        let call = post(&endpoint, "/v1/messages", &first);
        assert!(call.contains("tool_use") && call.contains("mcp__skills__skills_ls"));
        assert!(post(&endpoint, "/v1/messages", &second).contains("end_turn"));
        assert!(post(&endpoint, "/v1/messages/count_tokens", &first).contains("input_tokens"));

        let requests = endpoint.requests();
        let seen = requests
            .iter()
            .map(|request| (request.tools.len(), request.results.len()))
            .collect::<Vec<_>>();
        assert_eq!(seen, [(0, 0), (1, 0), (1, 1)]);
    }

    #[test]
    fn a_missing_tool_is_a_problem() {
        let plan = Plan {
            steps: vec![Step::new("skills_run", json!({}), "")],
        };
        let endpoint = Endpoint::start(plan, "s_", false).unwrap();
        let request = json!({"tools": [{"name": "s_skills_ls", "input_schema": {}}]});
        post(&endpoint, "/v1/messages", &request);
        assert_eq!(
            endpoint.requests()[0].problem.as_deref(),
            Some("the model is offered no tool `skills_run`")
        );
    }
}
