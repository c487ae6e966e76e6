//! `skills config`: shows and changes the settings of the user and of the project.

pub(crate) mod settings_file;

use clap::{Args, Subcommand};
use serde_json::json;
use toml_edit::{Array, Item, Table, TableLike, Value};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::interpreters;
use crate::output::line;
use crate::settings::{HOME_PREFIX, Kind, SETTINGS, SettingKey, check_value, resolve_path};
use crate::state::SettingsPaths;

use settings_file::TargetFile;

/// Show and change settings
///
/// Settings are defaults of the options of all commands, such as interpreters, memory and
/// workspace. Without a subcommand, shows them. Settings grant nothing; permissions are in policy
/// files.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show the settings in effect, with the file of each
    Show,
    /// Show the paths of the settings files
    Path,
    Set(Set),
    Unset(Unset),
}

/// Change a setting of the user
#[derive(Debug, Args)]
struct Set {
    /// Name of the setting; `--help` lists all
    #[arg(long_help = keys_help())]
    key: String,

    /// Its value, or values of a list
    #[arg(required = true)]
    value: Vec<String>,

    #[command(flatten)]
    file: TargetFile,
}

/// Remove a setting of the user
#[derive(Debug, Args)]
struct Unset {
    /// Name of the setting
    key: String,

    #[command(flatten)]
    file: TargetFile,
}

/// Returns the help of the argument that is a key: the list of all keys.
fn keys_help() -> String {
    let keys = SETTINGS.iter();
    let keys: String = keys
        .map(|setting| format!("- {}: {}\n", setting.name, setting.meaning()))
        .collect();
    format!("Name of the setting\n\n{keys}")
}

impl Config {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match &self.command {
            None | Some(ConfigCommand::Show) => show(context),
            Some(ConfigCommand::Path) => print_paths(context),
            Some(ConfigCommand::Set(set)) => set.run(context),
            Some(ConfigCommand::Unset(unset)) => unset.run(context),
        }
    }
}

fn show(context: &Context) -> anyhow::Result<Exit> {
    let settings = context.settings()?;
    if context.output.is_json() {
        let values = settings.sources.iter().map(
            |(key, value, path)| json!({"key": key.to_string(), "value": value, "file": path}),
        );
        return context.output.json(&json!({
            "settings": values.collect::<Vec<_>>(),
            "problems": settings.problems,
        }));
    }
    if settings.sources.is_empty() {
        context.output.status("no settings");
        for setting in &SETTINGS {
            let (key, meaning) = (setting.name, setting.meaning());
            context.output.status(&format!("  {key:30} {meaning}"));
        }
    }
    let shown = settings.sources.iter().map(|(key, value, path)| {
        let value = line(value);
        format!("{key} = {value}  ({})", line(&path.to_string_lossy()))
    });
    context.output.lines(shown)?;
    Ok(Exit::Success)
}

fn print_paths(context: &Context) -> anyhow::Result<Exit> {
    let paths = SettingsPaths::new(&context.environment);
    if context.output.is_json() {
        return context
            .output
            .json(&json!({"user": paths.user, "project": paths.project}));
    }
    let user = paths.user.iter().map(|path| ("user   ", path));
    let project = paths.project.iter().map(|path| ("project", path));
    context
        .output
        .lines(user.chain(project).map(|(kind, path)| {
            let missing = if path.is_file() { "" } else { "  (missing)" };
            format!("{kind}  {}{missing}", line(&path.to_string_lossy()))
        }))?;
    Ok(Exit::Success)
}

impl Set {
    fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let key = SettingKey::parse_dotted(&self.key).map_err(CommandError::input)?;
        let value = self.to_toml(&key, context)?;
        let interpreter = value.as_str().filter(|_| key.is_interpreter());
        let interpreter = interpreter.map(str::to_owned);
        self.file.edit(context, |document, path| {
            put(document.as_table_mut(), &key.path(), Item::Value(value));
            check_value(&document.to_string(), path, &key)?;
            if let Some(text) = interpreter {
                let source = self.file.source();
                let program = resolve_path(source, path, &text, &context.environment);
                // Not an error: a project can name an environment that its users create.
                if let Some(problem) = interpreters::unusable(&program) {
                    context.output.status(&format!("warning: {problem}"));
                }
            }
            Ok(())
        })
    }

    /// Converts the words of the command line. Paths become absolute, except those of a project,
    /// whose file is shared.
    fn to_toml(&self, key: &SettingKey, context: &Context) -> anyhow::Result<Value> {
        let path = |text: &String| -> anyhow::Result<String> {
            if self.file.is_project() || text.starts_with(HOME_PREFIX) {
                return Ok(text.clone());
            }
            let absolute = context.environment.current_dir()?.join(text);
            Ok(absolute.to_string_lossy().into_owned())
        };
        let one = || match self.value.as_slice() {
            [only] => Ok(only),
            _ => Err(CommandError::input(format!("`{key}` has one value"))),
        };
        Ok(match key.setting.kind {
            Kind::Paths(_) => {
                let paths: anyhow::Result<Array> = self.value.iter().map(path).collect();
                Value::from(paths?)
            }
            Kind::Path(_) => Value::from(path(one()?)?),
            Kind::Texts(..) => Value::from(self.value.iter().collect::<Array>()),
            Kind::Text(..) => Value::from(one()?),
            Kind::Number(..) => {
                let number: Result<i64, _> = one()?.parse();
                let expected =
                    |_| CommandError::input(format!("invalid `{key}`: expected a number"));
                Value::from(number.map_err(expected)?)
            }
            Kind::Switch(_) => {
                let is_enabled: Result<bool, _> = one()?.parse();
                let expected =
                    |_| CommandError::input(format!("invalid `{key}`: expected true or false"));
                Value::from(is_enabled.map_err(expected)?)
            }
        })
    }
}

impl Unset {
    fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let key = SettingKey::parse_dotted(&self.key);
        let path = match &key {
            Ok(key) => key.path(),
            // A key of a later version, or a mistake that is to be removed.
            Err(_) => self.key.split('.').map(str::to_owned).collect(),
        };
        self.file.edit(context, |document, _| {
            match (remove(document.as_table_mut(), &path), key) {
                (false, Err(unknown)) => Err(CommandError::input(unknown)),
                _ => Ok(()),
            }
        })
    }
}

/// Sets a list in the settings of the user.
#[cfg(all(feature = "packages", unix))]
pub(crate) fn set_list(
    key: &SettingKey,
    values: &[String],
    context: &Context,
) -> anyhow::Result<()> {
    let value = Value::from(values.iter().collect::<Array>());
    TargetFile::USER.edit(context, |document, path| {
        put(document.as_table_mut(), &key.path(), Item::Value(value));
        check_value(&document.to_string(), path, key)
    })?;
    Ok(())
}

fn put(table: &mut dyn TableLike, path: &[String], value: Item) {
    match path {
        [] => {}
        [name] => {
            table.insert(name, value);
        }
        [name, rest @ ..] => {
            if !table.contains_key(name) {
                let mut below = Table::new();
                // Without a header of its own unless it has values.
                below.set_implicit(true);
                table.insert(name, Item::Table(below));
            }
            if let Some(below) = table.get_mut(name).and_then(Item::as_table_like_mut) {
                put(below, rest, value);
            }
        }
    }
}

/// Removes a value, and the tables that are empty without it. A table with values is not a value.
/// Returns false if there is no value.
fn remove(table: &mut dyn TableLike, path: &[String]) -> bool {
    match path {
        [] => false,
        [name] => {
            let is_value = table.get(name).is_some_and(|item| !item.is_table_like());
            is_value && table.remove(name).is_some()
        }
        [name, rest @ ..] => {
            let Some(below) = table.get_mut(name).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let is_removed = remove(below, rest);
            if below.is_empty() {
                table.remove(name);
            }
            is_removed
        }
    }
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    #[test]
    fn edits_keep_comments_and_order() {
        let mut document: DocumentMut = "# mine\nmemory-mib = 512 # enough\n".parse().unwrap();
        let path = |text: &str| -> Vec<String> { text.split('.').map(str::to_owned).collect() };
        let table = document.as_table_mut();
        put(table, &path("interpreters.python"), toml_edit::value("/p"));
        put(table, &path("skills.pdf.enabled"), toml_edit::value(false));
        insta::assert_snapshot!(document.to_string(), @r#"
        # mine
        memory-mib = 512 # enough

        [interpreters]
        python = "/p"

        [skills.pdf]
        enabled = false
        "#);
        let table = document.as_table_mut();
        remove(table, &path("skills.pdf.enabled"));
        remove(table, &path("interpreters.python"));
        insta::assert_snapshot!(document.to_string(), @"
        # mine
        memory-mib = 512 # enough
        ");
    }
}
