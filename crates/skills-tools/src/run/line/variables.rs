//! The variables of a line, and how `read` sets them.

use crate::{ToolError, ToolErrorCode};

/// The variables that a line has set.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(Vec<(String, String)>);

impl Variables {
    pub(super) fn get(&self, name: &str) -> &str {
        let mut variables = self.0.iter();
        let found = variables.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

/// How `read` splits a line.
pub(super) struct LineReader<'a> {
    /// The variables, at least one. The last one gets the rest of a line.
    pub(super) names: &'a [String],
    /// Whether the white space of a line stays, as with `IFS=`.
    pub(super) keeps_space: bool,
    /// Whether a backslash is a character.
    pub(super) is_raw: bool,
}

impl LineReader<'_> {
    /// Returns the variables with their values.
    ///
    /// # Errors
    /// Fails for a backslash that is not a character.
    pub(super) fn split<'b>(&'b self, line: &'b str) -> Result<Vec<(&'b str, &'b str)>, ToolError> {
        const SPACE: [char; 2] = [' ', '\t'];
        if !self.is_raw && line.contains('\\') {
            let error = ToolErrorCode::InvalidArguments.error("`read` got a line with a backslash");
            return Err(error.with_hint("use `read -r`"));
        }
        let mut rest = match self.keeps_space {
            true => line,
            false => line.trim_matches(SPACE),
        };
        let last = self.names.len() - 1;
        let names = self.names.iter().enumerate();
        let values = names.map(|(index, name)| {
            let (value, after) = match rest.split_once(SPACE) {
                Some((value, after)) if !self.keeps_space && index < last => {
                    (value, after.trim_start_matches(SPACE))
                }
                _ => (rest, ""),
            };
            rest = after;
            (name.as_str(), value)
        });
        Ok(values.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_by_a_shell() {
        for (names, keeps_space, line, expected) in [
            ("a", false, "  x y  ", "a=x y"),
            ("a", true, "  x y  ", "a=  x y  "),
            ("a b", false, " x \t y  z ", "a=x b=y  z"),
            ("a b", false, "x", "a=x b="),
            ("a b", true, "x y", "a=x y b="),
            ("a b c", false, "", "a= b= c="),
        ] {
            let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
            let reader = LineReader {
                names: &names,
                keeps_space,
                is_raw: false,
            };
            let values = reader.split(line).unwrap();
            let values = values.iter().map(|(name, value)| format!("{name}={value}"));
            assert_eq!(values.collect::<Vec<_>>().join(" "), expected, "{line:?}");
            assert!(reader.split("a\\b").is_err());
        }
    }
}
