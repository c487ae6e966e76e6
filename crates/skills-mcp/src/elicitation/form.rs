//! The form of an approval prompt.

use std::borrow::Cow;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::json;
use sha2::{Digest, Sha256};
use skills_tools::runtime::policy::{BoxError, Permission, PermissionDecision, Question};
use skills_tools::runtime::{Answer, format_question_in_full};

/// The answers that the user of a client can give, in addition to `once` and `deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllowedResponses {
    /// The answer can be valid for a session.
    pub(crate) session: bool,
    /// The user owns the approval store, so a permanent approval can be offered.
    pub(crate) always: bool,
}

/// An answer that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// As clients return it.
    name: &'static str,
    /// As clients with support for it show it. What differs comes first: Claude Code shows about 45
    /// characters.
    title: Cow<'static, str>,
    response: Answer,
}

const ALLOW_ONCE: Choice = Choice {
    name: "allow_once",
    title: Cow::Borrowed("Yes, this run"),
    response: Answer::AllowOnce,
};
const ALLOW_ALL_PROGRAMS: Choice = Choice {
    name: "allow_all_programs_once",
    title: Cow::Borrowed("Yes, this run with any program"),
    response: Answer::AllowAllPrograms,
};
const ALLOW_SESSION: Choice = Choice {
    name: "allow_session",
    title: Cow::Borrowed("Yes, this version until the session ends"),
    response: Answer::AllowSession,
};
const ALLOW_COMMAND: Choice = Choice {
    title: Cow::Borrowed("Yes, this command until the session ends"),
    ..ALLOW_SESSION
};
const ALLOW_ALWAYS: Choice = Choice {
    name: "allow_always",
    title: Cow::Borrowed("Yes, this version of the skill, always"),
    response: Answer::AllowAlways,
};
const ALLOW_SKILLS: Choice = Choice {
    title: Cow::Borrowed("Yes, until their content changes"),
    ..ALLOW_ALWAYS
};
const DENY: Choice = Choice {
    name: "deny",
    title: Cow::Borrowed("No"),
    response: Answer::Deny,
};

/// Returns the choice for an answer.
fn choice(answer: Answer, question: &Question) -> Choice {
    match answer {
        Answer::AllowOnce => ALLOW_ONCE,
        Answer::AllowAllPrograms => ALLOW_ALL_PROGRAMS,
        Answer::AllowSession if question.covers.is_command => ALLOW_COMMAND,
        Answer::AllowSession => ALLOW_SESSION,
        Answer::AllowProgram => allow_programs(question),
        Answer::AllowCommands => allow_commands(question),
        Answer::AllowAlways if question.is_about_project() => ALLOW_SKILLS,
        Answer::AllowAlways => ALLOW_ALWAYS,
        Answer::Deny => DENY,
    }
}

/// Returns the choice of a command's programs in all commands on the same skill or directory.
fn allow_programs(question: &Question) -> Choice {
    let permissions = question.permissions().map(PermissionDecision::permission);
    let programs = permissions.filter_map(|permission| match permission {
        Permission::Program(name) => Some(format!("`{name}`")),
        _ => None,
    });
    let programs = programs.collect::<Vec<_>>().join(", ");
    let place = place_of_commands(question);
    Choice {
        name: "allow_program_for_session",
        title: format!("Yes, {programs} in commands this session, {place}").into(),
        response: Answer::AllowProgram,
    }
}

/// Returns the choice of all commands on the same skill or directory.
fn allow_commands(question: &Question) -> Choice {
    let place = place_of_commands(question);
    Choice {
        name: "allow_commands_for_session",
        title: format!("Yes, all commands this session, {place}").into(),
        response: Answer::AllowCommands,
    }
}

fn place_of_commands(question: &Question) -> &'static str {
    if question.covers.is_command_alone {
        "in this directory"
    } else {
        "with this skill"
    }
}

/// An approval prompt for the user of a client.
#[derive(Debug, Clone)]
pub(crate) struct Elicitation {
    message: String,
    /// Whether the program has run, and would run again.
    pub(crate) is_after_refusal: bool,
    choices: Vec<Choice>,
    /// Identifies the prompt: prompts with the same digest have the same answer.
    pub(crate) request_digest: String,
}

impl Elicitation {
    /// Builds the prompt.
    ///
    /// # Errors
    /// Fails if it is too long to be read completely.
    pub(super) fn try_new(
        question: &Question,
        allowed_responses: AllowedResponses,
    ) -> Result<Self, BoxError> {
        Ok(Self {
            message: format_question_in_full(question)?,
            is_after_refusal: question.is_after_refusal(),
            choices: allowed_responses.choices(question),
            request_digest: request_digest(question)?,
        })
    }

    /// Returns the parameters of the elicitation request.
    ///
    /// # Errors
    /// Not for the forms that are built here.
    pub(crate) fn form_params(&self) -> Result<ElicitRequestParams, BoxError> {
        let description = if self.is_after_refusal {
            "Without an answer nothing runs again."
        } else {
            "Nothing has run yet. Without an answer it is denied."
        };
        let schema = json!({
            "type": "object",
            "properties": {"decision": {
                "type": "string",
                "title": "Allow this?",
                "description": description,
                "enum": self.choices.iter().map(|choice| choice.name).collect::<Vec<_>>(),
                "enumNames": self.choices.iter().map(|choice| &choice.title).collect::<Vec<_>>(),
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

    /// Parses the answer. Returns `None` if the user gave none. An answer that was not
    /// offered is a denial.
    pub(super) fn parse_response(&self, result: &ElicitResult) -> Option<Answer> {
        match result.action {
            ElicitationAction::Accept => {
                let content = result.content.as_ref();
                let decision = content.and_then(|content| content.get("decision")?.as_str());
                // Compared with the offered choices: a client could send `allow_always` without
                // having been offered it.
                let chosen = self
                    .choices
                    .iter()
                    .find(|choice| Some(choice.name) == decision);
                Some(chosen.map_or(Answer::Deny, |choice| choice.response))
            }
            ElicitationAction::Decline => Some(Answer::Deny),
            // A dismissed prompt is not answered.
            _ => None,
        }
    }
}

impl AllowedResponses {
    /// Returns the choices for a question.
    fn choices(self, question: &Question) -> Vec<Choice> {
        let answers = question.answers().into_iter();
        let offered = answers.filter(|answer| match answer {
            Answer::AllowOnce | Answer::AllowAllPrograms | Answer::Deny => true,
            Answer::AllowAlways => self.always,
            _ => self.session,
        });
        offered.map(|answer| choice(answer, question)).collect()
    }
}

/// Returns the digest of everything that an answer depends on. The remaining time is excluded,
/// since it always differs.
fn request_digest(question: &Question) -> Result<String, serde_json::Error> {
    let mut seen = serde_json::to_value(question)?;
    if let Some(seen) = seen.as_object_mut() {
        seen.remove("limits");
    }
    Ok(hex::encode(Sha256::digest(serde_json::to_vec(&seen)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use skills_tools::runtime::policy::{Evaluation, HostPattern, PermissionManager, Request};

    use super::*;

    #[test]
    fn only_offered_responses_are_accepted() {
        let elicitation = |choices: &[Choice]| Elicitation {
            message: String::new(),
            is_after_refusal: false,
            choices: choices.to_vec(),
            request_digest: String::new(),
        };
        let check = |action, content: Option<Value>, choices: &[Choice], expected| {
            let result = ElicitResult::new(action);
            let result = content.into_iter().fold(result, ElicitResult::with_content);
            let parsed = elicitation(choices).parse_response(&result);
            assert_eq!(parsed, expected, "{result:?}");
        };
        let all = [ALLOW_ONCE, ALLOW_SESSION, ALLOW_ALWAYS, DENY];
        let few = [ALLOW_ONCE, DENY];
        let decision = |decision: &str| Some(json!({"decision": decision}));
        use ElicitationAction::{Accept, Cancel, Decline};
        for choice in &all {
            check(Accept, decision(choice.name), &all, Some(choice.response));
            let is_offered = few.contains(choice);
            let expected = if is_offered {
                choice.response
            } else {
                Answer::Deny
            };
            check(Accept, decision(choice.name), &few, Some(expected));
        }
        for nonsense in [
            None,
            decision(""),
            decision("ALLOW_ONCE"),
            Some(json!({"decision": true})),
            Some(json!("allow_once")),
            Some(json!({})),
        ] {
            check(Accept, nonsense, &all, Some(Answer::Deny));
        }
        let deny = Some(Answer::Deny);
        check(Decline, decision("allow_once"), &all, deny);
        check(Cancel, decision("allow_once"), &all, None);
    }

    /// Each choice says what it covers, and none covers what was not asked.
    #[test]
    fn choices_are_about_what_is_asked() {
        let choices = |request: Request| {
            let manager = PermissionManager::default();
            let Evaluation::NeedsApproval(pending) = manager.evaluate(&request) else {
                panic!("nothing allows it")
            };
            let all = AllowedResponses {
                session: true,
                always: true,
            };
            let choices = all.choices(pending.question());
            let lines: Vec<String> = choices
                .iter()
                .map(|choice| format!("{}: {}", choice.name, choice.title))
                .collect();
            lines[1..lines.len() - 1].join("\n")
        };
        let command = || {
            Request::for_host_command("/w")
                .content_digest("1")
                .ad_hoc("1")
        };
        let host = "example.com".parse::<HostPattern>().unwrap();
        insta::assert_snapshot!(choices(Request::new("/s").content_digest("1").spawn("git")), @r"
        allow_session: Yes, this version until the session ends
        allow_always: Yes, this version of the skill, always
        ");
        insta::assert_snapshot!(choices(command().spawn("git").connect(host.clone())), @r"
        allow_program_for_session: Yes, `git` in commands this session, in this directory
        allow_commands_for_session: Yes, all commands this session, in this directory
        ");
        insta::assert_snapshot!(choices(command().spawn_any()), @"allow_commands_for_session: Yes, all commands this session, in this directory");
        insta::assert_snapshot!(choices(command().spawn("cat").connect(host)), @"allow_session: Yes, this command until the session ends");
        let of_skill = Request::new("/s").content_digest("1").ad_hoc("1");
        insta::assert_snapshot!(choices(of_skill.spawn("git").spawn("make")), @r"
        allow_program_for_session: Yes, `git`, `make` in commands this session, with this skill
        allow_commands_for_session: Yes, all commands this session, with this skill
        ");
    }
}
