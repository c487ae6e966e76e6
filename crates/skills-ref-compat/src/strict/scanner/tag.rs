//! Scans anchors, aliases and tags.
//!
//! The composer rejects all of them, but an error in their syntax is returned first.

use crate::strict::cursor::{Cursor, ScanResult, is_blank_or_line_end};
use crate::strict::mark::{Context, is_line_end};
use crate::strict::token::TokenKind;

pub(super) fn scan_anchor(cursor: &mut Cursor<'_>) -> ScanResult<TokenKind> {
    let start = cursor.mark;
    let is_alias = cursor.peek_char(0) == '*';
    let context = if is_alias {
        ("while scanning an alias", start)
    } else {
        ("while scanning an anchor", start)
    };
    cursor.forward(1);
    let name = cursor.take_while(is_anchor_char);
    let c = cursor.peek_char(0);
    let is_complete = is_blank_or_line_end(c) || "?:,[]{}%@`".contains(c);
    cursor.ensure(
        !name.is_empty() && is_complete,
        context,
        "alphabetic or numeric character",
    )?;
    Ok(if is_alias {
        TokenKind::Alias(name)
    } else {
        TokenKind::Anchor
    })
}

pub(super) fn scan_tag(cursor: &mut Cursor<'_>) -> ScanResult<TokenKind> {
    let start = cursor.mark;
    let context = ("while scanning a tag", start);
    let outer = ("while parsing a tag", start);
    let c = cursor.peek_char(1);
    if c == '<' {
        cursor.forward(2);
        tag_uri(cursor, outer, context)?;
        cursor.ensure(cursor.peek_char(0) == '>', outer, "'>'")?;
        cursor.forward(1);
    } else if is_blank_or_line_end(c) {
        cursor.forward(1);
    } else {
        // `!a!b` has a handle `!a!`, `!a` does not; the second `!` may be anywhere in the word.
        let rest = cursor.text[cursor.mark.index + 1..].iter();
        let has_handle = rest
            .take_while(|c| !is_line_end(**c) && **c != ' ')
            .any(|c| *c == '!');
        if has_handle {
            tag_handle(cursor, context)?;
        } else {
            cursor.forward(1);
        }
        tag_uri(cursor, outer, context)?;
    }
    cursor.ensure(cursor.is_at_space_or_line_end(), context, "' '")?;
    Ok(TokenKind::Tag)
}

pub(super) fn tag_handle(cursor: &mut Cursor<'_>, context: Context) -> ScanResult<String> {
    cursor.ensure(cursor.peek_char(0) == '!', context, "'!'")?;
    cursor.forward(1);
    let mut handle = String::from('!');
    if cursor.peek_char(0) != ' ' {
        handle += &cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        cursor.ensure(cursor.peek_char(0) == '!', context, "'!'")?;
        cursor.push_next_char(&mut handle);
    }
    Ok(handle)
}

/// Scans the URI of a tag. `context` is that of the whole URI, `escape` that of an escape.
pub(super) fn tag_uri(
    cursor: &mut Cursor<'_>,
    context: Context,
    escape: Context,
) -> ScanResult<()> {
    let begin = cursor.mark.index;
    loop {
        let c = cursor.peek_char(0);
        if c == '%' {
            cursor.forward(1);
            cursor.take_hex_digits(2, escape, "URI escape sequence")?;
        } else if c.is_ascii_alphanumeric() || (c != '\0' && "-;/?:@&=+$,_.!~*'()[]#".contains(c)) {
            cursor.forward(1);
        } else {
            return cursor.ensure(cursor.mark.index != begin, context, "URI");
        }
    }
}

fn is_anchor_char(c: char) -> bool {
    !",[]{}".contains(c)
        && (('!'..='~').contains(&c)
            || (c >= '\u{A0}' && !matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')))
}
