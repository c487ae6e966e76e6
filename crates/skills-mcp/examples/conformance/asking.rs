//! Tools that ask the client by results, as revision 2026-07-28 does: the client calls again with
//! the answers.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateMessageResult, ElicitResult, ElicitationCapability, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListRootsResult, RequestStateCodec, RootsCapabilities,
    SamplingCapability, SealOptions, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::content::tool;

/// How long an answer is waited for.
const LIFETIME: Duration = Duration::from_secs(60);

/// What is asked by a call and its repetitions.
pub(crate) struct Talk {
    name: &'static str,
    description: &'static str,
    rounds: &'static [fn() -> Value],
    memory: Memory,
}

/// Where it is kept which round it is.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// Nowhere: there is one round.
    None,
    /// In sealed state that the client brings back.
    State,
}

/// What a call led to.
pub(crate) enum Turn {
    Ask(InputRequiredResult),
    /// All was answered; these are the last answers.
    Done(InputResponses),
}

const TALKS: &[Talk] = &[
    Talk::new(
        "test_input_required_result_elicitation",
        "Asks for a name",
        &[name],
        Memory::None,
    ),
    Talk::new(
        "test_streaming_elicitation",
        "Asks for a name, and says nothing else",
        &[name],
        Memory::None,
    ),
    Talk::new(
        "test_input_required_result_sampling",
        "Asks the client's model",
        &[capital],
        Memory::None,
    ),
    Talk::new(
        "test_missing_capability",
        "Cannot do without the client's model",
        &[capital],
        Memory::None,
    ),
    Talk::new(
        "test_input_required_result_list_roots",
        "Asks for directories",
        &[roots],
        Memory::None,
    ),
    Talk::new(
        "test_input_required_result_capabilities",
        "Asks what the client can answer",
        &[everything],
        Memory::None,
    ),
    Talk::new(
        "test_input_required_result_request_state",
        "Asks for a yes",
        &[consent],
        Memory::State,
    ),
    Talk::new(
        "test_input_required_result_tampered_state",
        "Asks for a yes to what it said",
        &[consent],
        Memory::State,
    ),
    Talk::new(
        "test_input_required_result_multiple_inputs",
        "Asks for three things at once",
        &[everything],
        Memory::State,
    ),
    Talk::new(
        "test_input_required_result_multi_round",
        "Asks twice",
        &[step_one, step_two],
        Memory::State,
    ),
];

/// What the prompt asks that needs an answer.
pub(crate) const PROMPT: Talk = Talk::new(
    "test_input_required_result_prompt",
    "Asks for a context",
    &[background],
    Memory::None,
);

pub(crate) fn tools() -> Vec<Tool> {
    TALKS
        .iter()
        .map(|talk| tool(talk.name, talk.description, json!({})))
        .collect()
}

/// Finds what a tool asks.
pub(crate) fn talk(tool: &str) -> Option<&'static Talk> {
    TALKS.iter().find(|talk| talk.name == tool)
}

impl Talk {
    const fn new(
        name: &'static str,
        description: &'static str,
        rounds: &'static [fn() -> Value],
        memory: Memory,
    ) -> Self {
        Self {
            name,
            description,
            rounds,
            memory,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn description(&self) -> &'static str {
        self.description
    }

    pub(crate) fn call(
        &self,
        seal: &RequestStateCodec,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(
            match self.turn(
                seal,
                request.input_responses,
                request.request_state,
                context,
            )? {
                Turn::Ask(question) => question.into(),
                Turn::Done(answers) => {
                    let memory = if self.memory == Memory::State {
                        "state-ok; "
                    } else {
                        ""
                    };
                    CallToolResult::success(vec![ContentBlock::text(format!(
                        "{memory}answers: {}",
                        json!(answers)
                    ))])
                    .into()
                }
            },
        )
    }

    /// Goes on where the state says.
    pub(crate) fn turn(
        &self,
        seal: &RequestStateCodec,
        responses: Option<InputResponses>,
        state: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Turn, ErrorData> {
        let (round, responses) = match (self.memory, state) {
            (Memory::None, _) => (0, responses),
            (Memory::State, None) => (0, None),
            (Memory::State, Some(state)) => (self.open(seal, &state)?, responses),
        };
        let asked = self.requests(round, context)?;
        let Some(responses) =
            responses.filter(|responses| asked.keys().all(|name| responses.contains_key(name)))
        else {
            return self.ask(round, asked, seal).map(Turn::Ask);
        };
        if let Some((name, _)) = asked
            .iter()
            .find(|(name, request)| !fits(request, &responses[*name]))
        {
            return Err(ErrorData::invalid_params(
                format!("inputResponses.{name} answers something else than what was asked"),
                None,
            ));
        }
        if round + 1 == self.rounds.len() {
            return Ok(Turn::Done(responses));
        }
        self.ask(round + 1, self.requests(round + 1, context)?, seal)
            .map(Turn::Ask)
    }

    fn open(&self, seal: &RequestStateCodec, state: &str) -> Result<usize, ErrorData> {
        let round = seal
            .open_json_with(state, self.name.as_bytes())
            .ok()
            .filter(|round| *round < self.rounds.len());
        round.ok_or_else(|| {
            ErrorData::invalid_params("requestState is not what this server gave", None)
        })
    }

    /// What is asked in a round, as far as the client can answer.
    fn requests(
        &self,
        round: usize,
        context: &RequestContext<RoleServer>,
    ) -> Result<InputRequests, ErrorData> {
        let asked: InputRequests = serde_json::from_value(self.rounds[round]()).map_err(failed)?;
        let can = context.client_capabilities().unwrap_or_default();
        let answerable = |request: &InputRequest| match request {
            InputRequest::CreateMessage(_) => can.sampling.is_some(),
            InputRequest::Elicitation(_) => can.elicitation.is_some(),
            InputRequest::ListRoots(_) => can.roots.is_some(),
            _ => false,
        };
        let needs = needs(asked.values());
        let asked: InputRequests = asked
            .into_iter()
            .filter(|(_, request)| answerable(request))
            .collect();
        if asked.is_empty() {
            Err(ErrorData::missing_required_client_capability(needs))
        } else {
            Ok(asked)
        }
    }

    fn ask(
        &self,
        round: usize,
        asked: InputRequests,
        seal: &RequestStateCodec,
    ) -> Result<InputRequiredResult, ErrorData> {
        let options = SealOptions::new()
            .associated_data(self.name.as_bytes())
            .ttl(LIFETIME);
        let state = match self.memory {
            Memory::None => None,
            Memory::State => Some(seal.seal_json_with(&round, &options).map_err(failed)?),
        };
        Ok(InputRequiredResult::new(Some(asked), state))
    }
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// What a client must be able to do to answer.
fn needs<'a>(asked: impl Iterator<Item = &'a InputRequest>) -> ClientCapabilities {
    let mut needs = ClientCapabilities::default();
    for request in asked {
        match request {
            InputRequest::CreateMessage(_) => needs.sampling = Some(SamplingCapability::default()),
            InputRequest::Elicitation(_) => {
                needs.elicitation = Some(ElicitationCapability::default())
            }
            InputRequest::ListRoots(_) => needs.roots = Some(RootsCapabilities::default()),
            _ => {}
        }
    }
    needs
}

fn fits(request: &InputRequest, response: &Value) -> bool {
    let response = response.clone();
    match request {
        InputRequest::CreateMessage(_) => {
            serde_json::from_value::<CreateMessageResult>(response).is_ok()
        }
        InputRequest::Elicitation(_) => serde_json::from_value::<ElicitResult>(response).is_ok(),
        InputRequest::ListRoots(_) => serde_json::from_value::<ListRootsResult>(response).is_ok(),
        _ => false,
    }
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

fn sampling(text: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn name() -> Value {
    json!({"user_name": form("What is your name?", "name", "string")})
}

fn capital() -> Value {
    json!({"capital_question": sampling("What is the capital of France?")})
}

fn roots() -> Value {
    json!({"client_roots": {"method": "roots/list"}})
}

fn consent() -> Value {
    json!({"confirm": form("Please confirm", "ok", "boolean")})
}

fn everything() -> Value {
    let name = form("What is your name?", "name", "string");
    json!({"user_name": name, "greeting": sampling("Generate a greeting"), "client_roots": {"method": "roots/list"}})
}

fn step_one() -> Value {
    json!({"step1": form("Step 1: What is your name?", "name", "string")})
}

fn step_two() -> Value {
    json!({"step2": form("Step 2: What is your favorite color?", "color", "string")})
}

fn background() -> Value {
    json!({"user_context": form("What context should the prompt use?", "context", "string")})
}
