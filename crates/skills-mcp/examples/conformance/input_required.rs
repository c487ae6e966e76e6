//! Tools that send requests to the client as results, as in protocol version 2026-07-28: the client
//! retries the call with the responses.

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

/// Lifetime of the request state.
const LIFETIME: Duration = Duration::from_secs(60);

/// The requests of a call and its retries.
pub(crate) struct Exchange {
    name: &'static str,
    description: &'static str,
    rounds: &'static [fn() -> Value],
    storage: RoundStorage,
}

/// Storage of the current round.
#[derive(Clone, Copy, PartialEq)]
enum RoundStorage {
    /// None: there is a single round.
    None,
    /// Signed state that the client returns.
    SignedState,
}

/// The result of a call or retry.
pub(crate) enum Progress {
    InputRequired(InputRequiredResult),
    /// All requests were answered; contains the last responses.
    Complete(InputResponses),
}

const EXCHANGES: &[Exchange] = &[
    Exchange::new(
        "test_input_required_result_elicitation",
        "Requests a name",
        &[name],
        RoundStorage::None,
    ),
    Exchange::new(
        "test_streaming_elicitation",
        "Requests a name, without other content",
        &[name],
        RoundStorage::None,
    ),
    Exchange::new(
        "test_input_required_result_sampling",
        "Requests a completion of the client's model",
        &[capital],
        RoundStorage::None,
    ),
    Exchange::new(
        "test_missing_capability",
        "Requires the client's model",
        &[capital],
        RoundStorage::None,
    ),
    Exchange::new(
        "test_input_required_result_list_roots",
        "Requests the roots",
        &[roots],
        RoundStorage::None,
    ),
    Exchange::new(
        "test_input_required_result_capabilities",
        "Sends the requests that the client supports",
        &[everything],
        RoundStorage::None,
    ),
    Exchange::new(
        "test_input_required_result_request_state",
        "Requests a confirmation",
        &[consent],
        RoundStorage::SignedState,
    ),
    Exchange::new(
        "test_input_required_result_tampered_state",
        "Requests a confirmation of its text",
        &[consent],
        RoundStorage::SignedState,
    ),
    Exchange::new(
        "test_input_required_result_multiple_inputs",
        "Sends three requests at once",
        &[everything],
        RoundStorage::SignedState,
    ),
    Exchange::new(
        "test_input_required_result_multi_round",
        "Sends requests in two rounds",
        &[step_one, step_two],
        RoundStorage::SignedState,
    ),
];

/// The requests of the prompt that needs a response.
pub(crate) const PROMPT: Exchange = Exchange::new(
    "test_input_required_result_prompt",
    "Requests a context",
    &[background],
    RoundStorage::None,
);

pub(crate) fn tools() -> Vec<Tool> {
    EXCHANGES
        .iter()
        .map(|exchange| tool(exchange.name, exchange.description, json!({})))
        .collect()
}

/// Finds the requests of a tool.
pub(crate) fn exchange(tool: &str) -> Option<&'static Exchange> {
    EXCHANGES.iter().find(|exchange| exchange.name == tool)
}

impl Exchange {
    const fn new(
        name: &'static str,
        description: &'static str,
        rounds: &'static [fn() -> Value],
        storage: RoundStorage,
    ) -> Self {
        Self {
            name,
            description,
            rounds,
            storage,
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
            match self.advance(
                seal,
                request.input_responses,
                request.request_state,
                context,
            )? {
                Progress::InputRequired(result) => result.into(),
                Progress::Complete(responses) => {
                    let prefix = if self.storage == RoundStorage::SignedState {
                        "state-ok; "
                    } else {
                        ""
                    };
                    CallToolResult::success(vec![ContentBlock::text(format!(
                        "{prefix}answers: {}",
                        json!(responses)
                    ))])
                    .into()
                }
            },
        )
    }

    /// Continues in the round of the state.
    pub(crate) fn advance(
        &self,
        seal: &RequestStateCodec,
        responses: Option<InputResponses>,
        state: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Progress, ErrorData> {
        let (round, responses) = match (self.storage, state) {
            (RoundStorage::None, _) => (0, responses),
            (RoundStorage::SignedState, None) => (0, None),
            (RoundStorage::SignedState, Some(state)) => (self.open(seal, &state)?, responses),
        };
        let asked = self.requests(round, context)?;
        let Some(responses) =
            responses.filter(|responses| asked.keys().all(|name| responses.contains_key(name)))
        else {
            return self.ask(round, asked, seal).map(Progress::InputRequired);
        };
        if let Some((name, _)) = asked
            .iter()
            .find(|(name, request)| !fits(request, &responses[*name]))
        {
            return Err(ErrorData::invalid_params(
                format!("inputResponses.{name} does not match the request"),
                None,
            ));
        }
        if round + 1 == self.rounds.len() {
            return Ok(Progress::Complete(responses));
        }
        self.ask(round + 1, self.requests(round + 1, context)?, seal)
            .map(Progress::InputRequired)
    }

    fn open(&self, seal: &RequestStateCodec, state: &str) -> Result<usize, ErrorData> {
        let round = seal
            .open_json_with(state, self.name.as_bytes())
            .ok()
            .filter(|round| *round < self.rounds.len());
        round.ok_or_else(|| ErrorData::invalid_params("invalid requestState", None))
    }

    /// Returns the requests of a round that the client supports.
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
        let state = match self.storage {
            RoundStorage::None => None,
            RoundStorage::SignedState => {
                Some(seal.seal_json_with(&round, &options).map_err(failed)?)
            }
        };
        Ok(InputRequiredResult::new(Some(asked), state))
    }
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns the capabilities that a client needs to respond.
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
