//! The value of `--allow`: a permission, parsed into a rule of the invocation.

use std::borrow::Cow;
use std::ffi::OsStr;

use clap::builder::{StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use skills_runtime::policy::{Effect, PolicyError, Rule, RuleSource};

use crate::process_environment::Environment;
use crate::settings::HOME_PREFIX;

/// Parses a permission. The error of an invalid one suggests a similar valid permission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PermissionParser;

impl TypedValueParser for PermissionParser {
    type Value = Rule;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Rule, clap::Error> {
        // clap creates the error from a function, so that it names the argument.
        let parsed = parse_permission.parse_ref(command, argument, value);
        parsed.map_err(|mut error| {
            if let Some(similar) = value.to_str().and_then(similar_permission) {
                let hint = StyledStr::from(format!("did you mean `{similar}`?"));
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint]));
            }
            error
        })
    }
}

fn parse_permission(text: &str) -> Result<Rule, PolicyError> {
    let text = expand_home(text);
    Rule::parse(Effect::Allow, RuleSource::Invocation, &text).map(|rule| rule.origin("--allow"))
}

/// Replaces `~/` at the start of a path, which a shell does not do after a colon.
fn expand_home(text: &str) -> Cow<'_, str> {
    let expanded = || {
        let (capability, path) = text.split_once(':')?;
        let path = path.strip_prefix(HOME_PREFIX)?;
        let environment = Environment::from_process();
        let home = environment.home()?.to_str()?;
        matches!(capability, "read" | "write").then(|| format!("{capability}:{home}/{path}"))
    };
    expanded().map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the valid permission that is most similar to an invalid one, if there is one.
fn similar_permission(text: &str) -> Option<String> {
    let error = parse_permission(text).err()?;
    if let Some(suggestion) = error.suggestion() {
        return Some(suggestion.to_owned());
    }
    // A path is relative to the working directory here.
    let (capability, path) = text.split_once(':')?;
    let path = std::path::absolute(path).ok()?;
    let absolute = format!("{}:{}", capability.trim().to_lowercase(), path.to_str()?);
    let is_path = |rule: Rule| rule.target().path().is_some();
    parse_permission(&absolute)
        .is_ok_and(is_path)
        .then_some(absolute)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use skills_runtime::Capability;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn similar_permissions_are_valid() {
        for (text, similar) in [
            ("exec", Some("spawn")),
            ("exec:/usr/bin/git", Some("spawn:git")),
            ("spawn:./git", Some("spawn:git")),
            ("ntwork:api.example.com", Some("network:api.example.com")),
            (
                "network:https://api.example.com:443/v1",
                Some("network:api.example.com"),
            ),
            ("Env:API_KEY", Some("env:API_KEY")),
            ("env:API_KEY=secret", Some("env:API_KEY")),
            ("wrtie:/data", Some("write:/data")),
            // The error of these shows the expected form.
            ("network", None),
            ("git", None),
            ("write:../data", None),
            ("spawn:", None),
            ("", None),
        ] {
            assert_eq!(similar_permission(text).as_deref(), similar, "{text}");
        }
        let relative = similar_permission("read:data").unwrap();
        assert!(relative.starts_with("read:/"), "{relative}");
    }

    /// The help of `--allow` lists every capability, in forms that it accepts.
    #[test]
    fn the_forms_in_help_are_valid() {
        let mut command = Arguments::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        let mut arguments = run.get_arguments();
        let allow = arguments.find(|known| known.get_long() == Some("allow"));
        let help = allow.unwrap().get_long_help().unwrap().to_string();
        let (_, forms) = help.split_once("One of ").unwrap();
        let forms: Vec<&str> = forms.trim_end_matches('.').split(", ").collect();
        for form in &forms {
            let text = form.replace(":PORT", ":80").replace("HOST", "host");
            assert!(parse_permission(&text).is_ok(), "{form}");
        }
        for capability in Capability::ALL {
            let word = match capability {
                Capability::Environment => "env",
                other => other.as_str(),
            };
            assert!(forms.iter().any(|form| form.starts_with(word)), "{word}");
        }
    }
}
