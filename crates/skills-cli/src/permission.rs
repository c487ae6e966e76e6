//! The value of `--allow`: a permission, parsed into a rule of the invocation.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use skills_runtime::policy::{Effect, PolicyError, Rule, RuleSource};

use crate::process_environment::Environment;
use crate::settings::HOME_PREFIX;

/// Maximum edit distance of a suggestion.
const MAX_TYPOS: usize = 2;

/// Capabilities of permissions, as in `CAPABILITY:VALUE`.
const CAPABILITIES: [&str; 5] = ["read", "write", "spawn", "network", "env"];

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
    let (capability, value) = match text.split_once(':') {
        Some((capability, value)) => (capability, Some(value)),
        None => (text, None),
    };
    let capability = similar_capability(&capability.trim().to_lowercase())?;
    let similar = match value {
        Some(value) => format!("{capability}:{}", similar_value(capability, value.trim())?),
        None => capability.to_owned(),
    };
    parse_permission(&similar).is_ok().then_some(similar)
}

fn similar_capability(name: &str) -> Option<&'static str> {
    match name {
        // Names of other programs for the same capabilities.
        "exec" | "run" | "program" => return Some("spawn"),
        "net" | "host" => return Some("network"),
        "environment" | "variable" => return Some("env"),
        _ => {}
    }
    similar(name, &CAPABILITIES)
}

/// Returns the known name that is most similar to an unknown one, if there is one.
pub(crate) fn similar(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |known: &'static str| (strsim::damerau_levenshtein(known, name), known);
    let (typos, nearest) = known.iter().copied().map(distance).min()?;
    (typos <= MAX_TYPOS).then_some(nearest)
}

/// Returns the part of a value that the capability accepts, such as the host of a URL.
fn similar_value(capability: &str, value: &str) -> Option<String> {
    let value = match capability {
        "network" => {
            let host = value.split_once("://").map_or(value, |(_, rest)| rest);
            host.split(['/', ':', '?', '#']).next()?
        }
        "spawn" => Path::new(value).file_name()?.to_str()?,
        "env" => value.split('=').next()?,
        _ => return Some(std::path::absolute(value).ok()?.to_str()?.to_owned()),
    };
    Some(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
