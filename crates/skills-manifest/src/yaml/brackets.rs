//! Counts brackets, before a text is parsed.

/// Maximum number of open brackets at any point, including those in quotes.
pub(super) const MAX_OPEN_BRACKETS: usize = 500;
/// Maximum number of opening brackets in total.
///
/// A closing bracket in quotes closes nothing, but only a parser could tell; without this limit,
/// such brackets would hide open ones from the count.
pub(super) const MAX_BRACKETS: usize = 2_000;

/// Returns the line, counted from 0, on which the number of brackets exceeds a limit.
pub(super) fn find_excess_brackets(yaml: &str) -> Option<usize> {
    let mut open = 0usize;
    let mut total = 0usize;
    let mut exceeds_limit = |byte: u8| {
        match byte {
            b'[' | b'{' => {
                open += 1;
                total += 1;
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > MAX_OPEN_BRACKETS || total > MAX_BRACKETS
    };
    yaml.lines()
        .position(|line| line.bytes().any(&mut exceeds_limit))
}
