//! Reads `name:` and `description:` off their lines, when nothing else can be read.

use crate::is_hidden;
use crate::manifest::RESTRICTIONS;

/// What stands on the lines.
pub(super) struct Found {
    pub(super) name: Option<String>,
    pub(super) description: String,
    /// The fields that were read and the lines they stand on, counted from 1 in the frontmatter.
    pub(super) places: Vec<(&'static str, usize)>,
    /// Restrictions that the text seems to declare.
    pub(super) unread: Vec<&'static str>,
}

/// Reads the lines; nothing when there is no description, or when the text is no text (it holds NUL).
pub(super) fn read(text: &str) -> Option<Found> {
    if text.contains('\0') {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let (description, at) = value(&lines, "description")?;
    let name = value(&lines, "name");
    let mut places = vec![("description", at)];
    places.extend(name.as_ref().map(|(_, at)| ("name", *at)));
    let declares = |field: &&&str| lines.iter().any(|line| starts_field(line.trim_start(), field).is_some());
    let unread = RESTRICTIONS.iter().filter(declares).copied().collect();
    Some(Found { name: name.map(|(name, _)| name), description, places, unread })
}

/// Finds `field: value` and the indented lines that go on with it.
fn value(lines: &[&str], field: &str) -> Option<(String, usize)> {
    let (index, first) = lines.iter().enumerate().find_map(|(index, line)| Some((index, starts_field(line, field)?)))?;
    let is_more = |line: &&&str| line.starts_with([' ', '\t']) || line.is_empty();
    let first = first.trim().trim_start_matches(['|', '>']).trim_start_matches(['-', '+']);
    let parts = std::iter::once(first).chain(lines[index + 1..].iter().take_while(is_more).copied());
    let text = parts.map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let text: String = unquoted(&text).chars().filter(|c| !c.is_control()).collect();
    (text.chars().any(|c| !c.is_whitespace() && !is_hidden(c))).then_some((text, index + 1))
}

/// Returns what stands behind `field:`, in any spelling of the field.
fn starts_field<'a>(line: &'a str, field: &str) -> Option<&'a str> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim().trim_matches(['"', '\'', '*']);
    crate::fields::is_spelling_of(key, field).then_some(rest)
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}
