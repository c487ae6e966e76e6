//! The form of an approval prompt.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::json;
use sha2::{Digest, Sha256};
use skills_tools::runtime::policy::{ApprovalRequest, BoxError};
use skills_tools::runtime::{ApprovalResponse, format_approval_request_in_full};

/// Responses to offer in addition to `once` and `deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllowedResponses {
    /// The response can be valid for a session.
    pub(crate) session: bool,
    /// The user owns the approval store, so a permanent approval can be offered.
    pub(crate) always: bool,
}

/// An approval prompt for the user of a client.
#[derive(Debug, Clone)]
pub(crate) struct Elicitation {
    message: String,
    pub(super) allowed_responses: AllowedResponses,
    /// Identifies the prompt: prompts with the same digest have the same response.
    pub(crate) request_digest: String,
}

impl Elicitation {
    /// Builds the prompt.
    ///
    /// # Errors
    /// Fails if it is too long to be read completely.
    pub(super) fn try_new(
        request: &ApprovalRequest,
        allowed_responses: AllowedResponses,
    ) -> Result<Self, BoxError> {
        Ok(Self {
            message: format_approval_request_in_full(request)?,
            allowed_responses: allowed_responses.for_request(request),
            request_digest: request_digest(request)?,
        })
    }

    /// Returns the parameters of the elicitation request.
    ///
    /// # Errors
    /// Not for the forms that are built here.
    pub(crate) fn form_params(&self) -> Result<ElicitRequestParams, BoxError> {
        let schema = json!({
            "type": "object",
            "properties": {"decision": {
                "type": "string",
                "title": "Allow this?",
                "description": "Nothing has run yet. Without a response the request is denied.",
                "enum": self.allowed_responses.choices().map(|(name, _)| name).collect::<Vec<_>>(),
                // A client that submits the form unchanged denies.
                "default": "deny",
            }},
            "required": ["decision"],
        });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let requested_schema = ElicitationSchema::from_json_schema(schema)?;
        Ok(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message.clone(),
            requested_schema,
        })
    }
}

impl AllowedResponses {
    /// Removes responses that do not apply to the request: without a digest nothing can be
    /// recognized again, and commands of a model are not approved permanently.
    fn for_request(self, request: &ApprovalRequest) -> Self {
        let is_identifiable = request.digest.is_some();
        Self {
            session: self.session && is_identifiable,
            always: self.always && is_identifiable && !request.is_ad_hoc,
        }
    }

    /// Returns the offered responses by the names that clients show.
    fn choices(self) -> impl Iterator<Item = (&'static str, ApprovalResponse)> {
        use ApprovalResponse::{AllowAlways, AllowOnce, AllowSession, Deny};
        let choices = [
            (true, "allow_once", AllowOnce),
            (self.session, "allow_session", AllowSession),
            (self.always, "allow_always", AllowAlways),
            (true, "deny", Deny),
        ];
        let offered = choices.into_iter().filter(|(is_offered, ..)| *is_offered);
        offered.map(|(_, name, response)| (name, response))
    }

    /// Parses the response. Returns `None` if the user gave no response. A response that was not
    /// offered is a denial.
    pub(super) fn parse_response(self, result: &ElicitResult) -> Option<ApprovalResponse> {
        match result.action {
            ElicitationAction::Accept => {
                let content = result.content.as_ref();
                let decision = content.and_then(|content| content.get("decision")?.as_str());
                // Compared with the offered choices: a client could send `allow_always` without
                // having been offered it.
                let chosen = self.choices().find(|(name, _)| Some(*name) == decision);
                Some(chosen.map_or(ApprovalResponse::Deny, |(_, response)| response))
            }
            ElicitationAction::Decline => Some(ApprovalResponse::Deny),
            // A dismissed prompt is not answered.
            _ => None,
        }
    }
}

/// Returns the digest of everything that a response depends on. The remaining time is excluded,
/// since it always differs.
fn request_digest(request: &ApprovalRequest) -> Result<String, serde_json::Error> {
    let mut seen = serde_json::to_value(request)?;
    if let Some(seen) = seen.as_object_mut() {
        seen.remove("limits");
    }
    Ok(hex::encode(Sha256::digest(serde_json::to_vec(&seen)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_offered_responses_are_accepted() {
        let check = |action, content: Option<Value>, allowed: AllowedResponses, expected| {
            let result = ElicitResult::new(action);
            let result = content.into_iter().fold(result, ElicitResult::with_content);
            assert_eq!(allowed.parse_response(&result), expected, "{result:?}");
        };
        let all = AllowedResponses {
            session: true,
            always: true,
        };
        let few = AllowedResponses {
            session: false,
            always: false,
        };
        let decision = |decision: &str| Some(json!({"decision": decision}));
        use ElicitationAction::{Accept, Cancel, Decline};
        check(
            Accept,
            decision("allow_once"),
            few,
            Some(ApprovalResponse::AllowOnce),
        );
        check(
            Accept,
            decision("allow_session"),
            all,
            Some(ApprovalResponse::AllowSession),
        );
        check(
            Accept,
            decision("allow_always"),
            all,
            Some(ApprovalResponse::AllowAlways),
        );
        check(
            Accept,
            decision("allow_session"),
            few,
            Some(ApprovalResponse::Deny),
        );
        check(
            Accept,
            decision("allow_always"),
            few,
            Some(ApprovalResponse::Deny),
        );
        check(Accept, decision("deny"), all, Some(ApprovalResponse::Deny));
        for nonsense in [
            None,
            decision(""),
            decision("ALLOW_ONCE"),
            Some(json!({"decision": true})),
            Some(json!("allow_once")),
            Some(json!({})),
        ] {
            check(Accept, nonsense, all, Some(ApprovalResponse::Deny));
        }
        check(
            Decline,
            decision("allow_once"),
            all,
            Some(ApprovalResponse::Deny),
        );
        check(Cancel, decision("allow_once"), all, None);
    }
}
