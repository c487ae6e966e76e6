//! One question, in the words and with the choices that a client shows.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::json;
use sha2::{Digest, Sha256};
use skills_tools::runtime::policy::{ApprovalRequest, BoxError};
use skills_tools::runtime::{ApprovalResponse, format_approval_request_in_full};

/// What may be answered besides «once» and «no».
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllowedAnswers {
    /// There is a conversation that the answer can hold for.
    pub(crate) session: bool,
    /// Whoever answers is the owner of the approvals.
    pub(crate) always: bool,
}

/// A question to the user of a client.
#[derive(Debug, Clone)]
pub(crate) struct Elicitation {
    message: String,
    allowed_answers: AllowedAnswers,
    question_digest: String,
}

impl Elicitation {
    /// Writes a question down.
    ///
    /// # Errors
    /// When nobody could read all of it.
    pub(crate) fn try_new(
        question: &ApprovalRequest,
        offers: AllowedAnswers,
    ) -> Result<Self, BoxError> {
        Ok(Self {
            message: format_approval_request_in_full(question)?,
            allowed_answers: offers.for_request(question),
            question_digest: question_digest(question)?,
        })
    }

    /// Returns what tells this question from others: two with the same are answered by the same
    /// answer.
    pub(crate) fn question_digest(&self) -> &str {
        &self.question_digest
    }

    /// Reads an answer to it; nothing when there is none. What was not offered is no.
    pub(crate) fn parse_answer(&self, result: &ElicitResult) -> Option<ApprovalResponse> {
        self.allowed_answers.parse_answer(result)
    }

    /// Returns the form for a client.
    ///
    /// # Errors
    /// Never for the forms that are made here.
    pub(crate) fn form_params(&self) -> Result<ElicitRequestParams, BoxError> {
        let schema = json!({
            "type": "object",
            "properties": {"decision": {
                "type": "string",
                "title": "Allow it?",
                "description": "Nothing has run yet. Without an answer nothing will.",
                "enum": self.allowed_answers.choices().map(|(name, _)| name).collect::<Vec<_>>(),
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

impl AllowedAnswers {
    /// Leaves out what an answer to this question cannot be: without a digest nothing is known
    /// again, and words of a model are not allowed for good.
    fn for_request(self, question: &ApprovalRequest) -> Self {
        let lasts = question.digest.is_some();
        Self {
            session: self.session && lasts,
            always: self.always && lasts && !question.is_ad_hoc,
        }
    }

    /// Lists the answers that are offered, as clients show them.
    fn choices(self) -> impl Iterator<Item = (&'static str, ApprovalResponse)> {
        let session = self
            .session
            .then_some(("allow_session", ApprovalResponse::AllowSession));
        let always = self
            .always
            .then_some(("allow_always", ApprovalResponse::AllowAlways));
        [
            Some(("allow_once", ApprovalResponse::AllowOnce)),
            session,
            always,
            Some(("deny", ApprovalResponse::Deny)),
        ]
        .into_iter()
        .flatten()
    }
}

impl AllowedAnswers {
    /// Reads an answer; nothing when there is none. What was not offered is no.
    fn parse_answer(self, result: &ElicitResult) -> Option<ApprovalResponse> {
        match result.action {
            ElicitationAction::Accept => {
                let decision = result
                    .content
                    .as_ref()
                    .and_then(|content| content.get("decision")?.as_str());
                let chosen = self.choices().find(|(name, _)| Some(*name) == decision);
                Some(chosen.map_or(ApprovalResponse::Deny, |(_, answer)| answer))
            }
            ElicitationAction::Decline => Some(ApprovalResponse::Deny),
            // Whoever closes the question has not answered it.
            _ => None,
        }
    }
}

/// All that an answer hangs on. How much time is left is not: it is never twice the same.
fn question_digest(question: &ApprovalRequest) -> Result<String, serde_json::Error> {
    let mut seen = serde_json::to_value(question)?;
    if let Some(seen) = seen.as_object_mut() {
        seen.remove("limits");
    }
    let digest = Sha256::digest(serde_json::to_vec(&seen)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_what_was_offered_is_a_yes() {
        let check = |action, content: Option<Value>, offers: AllowedAnswers, expected| {
            let result = ElicitResult::new(action);
            let result = content.into_iter().fold(result, ElicitResult::with_content);
            assert_eq!(offers.parse_answer(&result), expected, "{result:?}");
        };
        let all = AllowedAnswers {
            session: true,
            always: true,
        };
        let few = AllowedAnswers {
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
