//! Scans directives.
//!
//! Frontmatter cannot use them, since the `---` that must follow would end it, but their errors are
//! returned before that one.

use super::tag::{tag_handle, tag_uri};
use crate::strict::cursor::{Cursor, ScanResult};
use crate::strict::mark::{Context, Mark};
use crate::strict::token::Directive;

/// Scans a directive up to the end of its line; returns where its text ends.
pub(super) fn scan(cursor: &mut Cursor<'_>) -> ScanResult<(Directive, Mark)> {
    let context = ("while scanning a directive", cursor.mark);
    cursor.forward(1);
    let name = directive_name(cursor, context)?;
    let directive = match name.as_str() {
        "YAML" => scan_version(cursor, context)?,
        "TAG" => tag_directive(cursor, context)?,
        _ => Directive::Other,
    };
    // The text of unknown directives is not checked.
    let end = cursor.mark;
    if directive == Directive::Other {
        cursor.skip_to_line_end();
    }
    cursor.scan_line_end(context)?;
    Ok((directive, end))
}

fn directive_name(cursor: &mut Cursor<'_>, context: Context) -> ScanResult<String> {
    let name =
        cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
    cursor.ensure(
        !name.is_empty() && cursor.is_at_space_or_line_end(),
        context,
        "alphabetic or numeric character",
    )?;
    Ok(name)
}

fn scan_version(cursor: &mut Cursor<'_>, context: Context) -> ScanResult<Directive> {
    cursor.skip_spaces();
    let major = scan_number(cursor, context)?;
    cursor.ensure(cursor.peek_char(0) == '.', context, "a digit or '.'")?;
    cursor.forward(1);
    scan_number(cursor, context)?;
    cursor.ensure(cursor.is_at_space_or_line_end(), context, "a digit or ' '")?;
    Ok(Directive::Version { major })
}

fn scan_number(cursor: &mut Cursor<'_>, context: Context) -> ScanResult<String> {
    let digits = cursor.take_while(|c| c.is_ascii_digit());
    cursor.ensure(!digits.is_empty(), context, "a digit")?;
    Ok(digits)
}

fn tag_directive(cursor: &mut Cursor<'_>, context: Context) -> ScanResult<Directive> {
    cursor.skip_spaces();
    let handle = tag_handle(cursor, context)?;
    cursor.ensure(cursor.peek_char(0) == ' ', context, "' '")?;
    cursor.skip_spaces();
    tag_uri(cursor, ("while parsing a directive", context.1), context)?;
    cursor.ensure(cursor.is_at_space_or_line_end(), context, "' '")?;
    Ok(Directive::Tag { handle })
}
