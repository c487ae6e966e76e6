//! Characters that a reader cannot see.

/// Says whether a reader cannot see `c`: control characters, bidirectional controls, zero-width characters, tags, line and paragraph
/// separators. They hide text from people that models read, or change how text around them looks.
///
/// The zero-width joiner and non-joiner count too, although some scripts and emoji need them: names do without, longer text may not.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}')
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FE00}'..='\u{FE0E}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}
