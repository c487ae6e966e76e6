//! Words for an explanation: lines for people and models, and settings for each surface.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::cause::{Cause, WithheldVariable};
use super::facts::{Fact, FactKind};
use super::remedy::Remedy;

/// Factor by which an insufficient limit is raised.
const RAISE_FACTOR: u64 = 4;

/// The words of an explanation, one line each. The text of a terminal and results of tools contain the
/// same lines, each with the labels of its format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplanationWords {
    /// The operations that restrictions stopped. What only the output of the program says is marked.
    pub refused: Vec<String>,
    /// What else is known, and the cause.
    pub notes: Vec<String>,
    /// What the user can do, in the imperative.
    pub help: Vec<String>,
}

/// The exact settings that apply a remedy, one for each place where an operator can make them. Absent
/// where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Settings {
    /// The arguments of `skills run` or `skills call`, one word each, without quotes of a shell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The arguments of `skills mcp` in the configuration of an MCP client, in the same form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<String>,
    /// The line of a policy file, in TOML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_file: Option<String>,
    /// The expression of a program that uses the library. `policy` is its policy, and `options` are the
    /// options of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
}

/// Returns the words of facts, a cause and remedies. `omitted` is the number of further refused
/// operations.
pub(super) fn words(
    facts: &[Fact],
    omitted: u32,
    cause: Option<&Cause>,
    help: impl Iterator<Item = String>,
) -> ExplanationWords {
    let mut words = ExplanationWords::default();
    for fact in facts.iter().filter(|fact| fact.is_relevant) {
        let lines = match fact.kind {
            FactKind::Refused(_) => &mut words.refused,
            _ => &mut words.notes,
        };
        lines.push(fact.to_string());
    }
    match omitted {
        0 => {}
        1 => words.refused.push("1 more operation".to_owned()),
        omitted => words.refused.push(format!("{omitted} more operations")),
    }
    words.notes.extend(cause.and_then(Cause::describe));
    for line in help {
        if !words.help.contains(&line) {
            words.help.push(line);
        }
    }
    words
}

impl Remedy {
    /// Returns the exact settings that apply the remedy.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let command = self.command_arguments();
        Settings {
            client: self.client_arguments(),
            policy_file: self.policy_line(),
            library: self.library_expression(),
            command,
        }
    }

    /// Returns the arguments of the command, without quotes of a shell; empty if no option helps.
    #[must_use]
    pub fn command_arguments(&self) -> Vec<String> {
        let words: Vec<&str> = match self {
            Self::Workspace => vec!["--workspace", "DIR"],
            Self::AllowHost => vec!["--allow", "network:HOST"],
            Self::AllowProgram => vec!["--allow", "spawn:PROGRAM"],
            Self::IgnoreRequirements => vec!["--ignore-requirements"],
            Self::Memory { .. } => return self.limit_arguments("--memory"),
            Self::RaiseLimit {
                limit,
                value,
                max_value,
            } => {
                let raised = value.saturating_mul(RAISE_FACTOR).min(*max_value);
                let raised = limit.in_option(raised).to_string();
                return vec![limit.option().to_owned(), raised];
            }
            Self::Timeout { limit_ms } => {
                let raised = limit_ms.saturating_mul(RAISE_FACTOR).div_ceil(1_000);
                return vec!["--timeout".to_owned(), raised.to_string()];
            }
            Self::PassVariable(variable) => {
                return vec!["--env".to_owned(), variable.name.clone()];
            }
            _ => {
                let rules = self.rules().iter();
                rules.flat_map(|rule| ["--allow", rule]).collect()
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Returns the arguments of the server in the configuration of an MCP client; empty if no option
    /// helps.
    #[must_use]
    pub fn client_arguments(&self) -> Vec<String> {
        let mut arguments = match self {
            // A server has no caller who passes values; it gives those of a file to skills that
            // declare them.
            Self::PassVariable(variable) if variable.is_declared => {
                let rule = format!("env:{}", variable.name);
                ["--env-file", "FILE", "--allow", &rule]
                    .map(str::to_owned)
                    .to_vec()
            }
            Self::PassVariable(_) => Vec::new(),
            _ => self.command_arguments(),
        };
        if !arguments.is_empty() {
            arguments.insert(0, "mcp".to_owned());
        }
        arguments
    }

    /// Returns the line of a policy file; `None` if no rule helps.
    #[must_use]
    pub fn policy_line(&self) -> Option<String> {
        let rules = self.quoted_rules();
        (!rules.is_empty()).then(|| format!("allow = [{}]", rules.join(", ")))
    }

    /// Returns the expression of a program that uses the library; `None` if there is none.
    #[must_use]
    pub fn library_expression(&self) -> Option<String> {
        match self {
            Self::Memory { .. } => {
                let [_, mib] = self.limit_arguments("").try_into().ok()?;
                return Some(format!("options.memory_bytes = Some({mib} << 20)"));
            }
            Self::PassVariable(WithheldVariable { name, .. }) => {
                return Some(format!("options.env.insert({name:?}.to_owned(), secret)"));
            }
            _ => {}
        }
        let rules = self.quoted_rules().into_iter();
        let rules: Vec<String> = rules
            .map(|rule| format!("Rule::parse(Effect::Allow, RuleSource::Invocation, {rule})?"))
            .collect();
        (!rules.is_empty()).then(|| format!("policy.with_rules([{}])", rules.join(", ")))
    }

    /// Returns the rules of the remedy, in the syntax of rules.
    fn rules(&self) -> &[String] {
        match self {
            Self::Allow { rules }
            | Self::AllowNext { rules }
            | Self::KeepHome { rules }
            | Self::Reveal { rules, .. } => rules,
            Self::Package { missing, .. } => missing.allowing_rule.as_slice(),
            _ => &[],
        }
    }

    fn quoted_rules(&self) -> Vec<String> {
        let variable = match self {
            Self::PassVariable(variable) => Some(format!("env:{}", variable.name)),
            _ => None,
        };
        // Both TOML and Rust read the strings of JSON.
        let rules = self.rules().iter().chain(&variable);
        rules
            .map(|rule| Value::from(rule.as_str()).to_string())
            .collect()
    }

    /// Returns an option with a raised limit in MiB; empty without a limit.
    fn limit_arguments(&self, option: &str) -> Vec<String> {
        let Self::Memory {
            limit_bytes,
            max_bytes,
        } = self
        else {
            return Vec::new();
        };
        let raised = limit_bytes.saturating_mul(RAISE_FACTOR).min(*max_bytes) >> 20;
        vec![option.to_owned(), raised.to_string()]
    }
}

/// Serializes remedies with their settings.
pub(super) fn serialize_remedies<S: Serializer>(
    remedies: &[Remedy],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Described<'a> {
        #[serde(flatten)]
        remedy: &'a Remedy,
        settings: Settings,
    }
    serializer.collect_seq(remedies.iter().map(|remedy| Described {
        remedy,
        settings: remedy.settings(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_surface_gets_its_exact_setting() {
        let rules = vec!["read:/a b".to_owned(), "spawn:git".to_owned()];
        let settings = Remedy::Allow { rules }.settings();
        assert_eq!(
            settings.command,
            ["--allow", "read:/a b", "--allow", "spawn:git"]
        );
        assert_eq!(settings.client[..2], ["mcp", "--allow"]);
        assert_eq!(
            settings.policy_file.as_deref(),
            Some(r#"allow = ["read:/a b", "spawn:git"]"#)
        );
        let library = settings.library.unwrap();
        assert!(
            library.starts_with("policy.with_rules([Rule::parse("),
            "{library}"
        );
        let memory = Remedy::Memory {
            limit_bytes: 256 << 20,
            max_bytes: 512 << 20,
        };
        assert_eq!(memory.command_arguments(), ["--memory", "512"]);
        assert_eq!(memory.policy_line(), None);
        let name = "API_KEY".to_owned();
        let variable = Remedy::PassVariable(WithheldVariable {
            name,
            is_declared: false,
            is_only_reported: false,
        });
        assert_eq!(variable.command_arguments(), ["--env", "API_KEY"]);
        let data = serde_json::to_value(&variable).unwrap();
        assert_eq!(
            (&data["kind"], &data["name"]),
            (&"pass-variable".into(), &"API_KEY".into())
        );
        assert!(
            Remedy::ConvertLineEnds {
                script: String::new()
            }
            .command_arguments()
            .is_empty()
        );
    }
}
