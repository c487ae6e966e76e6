//! The language and the time zone of the user, for programs.

/// The variables of a language that a program gets.
const LANGUAGE_VARIABLES: [&str; 13] = [
    "LANG",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TIME",
];
const TIME_ZONE: &str = "TZ";
/// Maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 64;

/// The language and the time zone of a user, as programs get them in `LANG`, `LC_*` and `TZ`, so that
/// dates, numbers and messages are those of a plain start. Default: the UTF-8 locale that every
/// machine has (`C.UTF-8`, on macOS `en_US.UTF-8`), and the time zone of the machine.
///
/// A value that can name a file, such as `TZ=:/etc/passwd`, is left out.
///
/// ```
/// use skills_sandbox::Locale;
///
/// let variables = [("TZ", "Asia/Shanghai"), ("LANG", "de_DE.UTF-8"), ("LC_TIME", "/tmp/evil")];
/// let locale = Locale::from_variables(|name| {
///     let found = variables.iter().find(|(known, _)| *known == name);
///     found.map(|(_, value)| (*value).to_owned())
/// });
/// assert_eq!(locale.time_zone(), Some("Asia/Shanghai"));
/// assert_eq!(locale.languages("C.UTF-8"), [("LANG".to_owned(), "de_DE.UTF-8".to_owned())]);
/// assert_eq!(Locale::default().languages("C.UTF-8"), [("LANG".to_owned(), "C.UTF-8".to_owned())]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locale {
    languages: Vec<(&'static str, String)>,
    time_zone: Option<String>,
}

impl Locale {
    /// Creates a locale from the variables of a user's environment. `value` returns that of a name.
    #[must_use]
    pub fn from_variables(value: impl Fn(&str) -> Option<String>) -> Self {
        let valid = |name: &str| value(name).filter(|value| is_name(value));
        let languages = LANGUAGE_VARIABLES.iter();
        Self {
            languages: languages
                .filter_map(|name| Some((*name, valid(name)?)))
                .collect(),
            time_zone: valid(TIME_ZONE),
        }
    }

    /// Returns the variables of the language, with `default` as `LANG` if the user sets none.
    #[must_use]
    pub fn languages(&self, default: &str) -> Vec<(String, String)> {
        let is_set = self.languages.iter().any(|(name, _)| *name == "LANG");
        let default = (!is_set).then(|| ("LANG".to_owned(), default.to_owned()));
        let languages = self.languages.iter();
        let languages = languages.map(|(name, value)| ((*name).to_owned(), value.clone()));
        default.into_iter().chain(languages).collect()
    }

    /// Returns the value of `TZ`.
    #[must_use]
    pub fn time_zone(&self) -> Option<&str> {
        self.time_zone.as_deref()
    }
}

/// Returns true for the name of a language or a time zone, which is below a directory of the system, or a
/// rule such as `CET-1CEST`. The C library opens other values as files.
fn is_name(value: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.@+-:/,<>".contains(c);
    !value.is_empty()
        && value.len() <= MAX_VALUE_BYTES
        && value.chars().all(is_plain)
        && !value.contains("..")
        && !value.trim_start_matches(':').starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_names_a_file() {
        for (value, expected) in [
            ("Asia/Shanghai", true),
            (":Europe/Berlin", true),
            ("CET-1CEST,M3.5.0,M10.5.0/3", true),
            ("<+0530>-5:30", true),
            ("de_DE.UTF-8@euro", true),
            ("", false),
            ("/etc/shadow", false),
            (":/etc/shadow", false),
            ("::/etc/shadow", false),
            ("../../etc/shadow", false),
            ("Europe/../../../etc/shadow", false),
            ("a\nLD_PRELOAD=/x", false),
            ("$(id)", false),
        ] {
            assert_eq!(is_name(value), expected, "{value}");
        }
        assert!(!is_name(&"a".repeat(65)));
    }
}
