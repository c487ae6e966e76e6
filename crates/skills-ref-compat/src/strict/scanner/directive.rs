//! Scans directives.
//!
//! Frontmatter cannot use them, since the `---` that must follow would end it, but their errors are
//! returned before that one.

use super::{ScanResult, Scanner};
use crate::strict::mark::Context;
use crate::strict::token::{Directive, TokenKind};

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> ScanResult<()> {
        // A directive belongs to the next document, so it ends all blocks of this one.
        self.end_blocks()?;
        let start = self.mark;
        let context = ("while scanning a directive", start);
        self.forward(1);
        let name = self.directive_name(context)?;
        let directive = match name.as_str() {
            "YAML" => self.scan_version(context)?,
            "TAG" => self.tag_directive(context)?,
            _ => Directive::Other,
        };
        // The text of unknown directives is not checked.
        let end = self.mark;
        if directive == Directive::Other {
            self.skip_to_line_end();
        }
        self.scan_line_end(context)?;
        self.push_token(TokenKind::Directive(directive), start, end);
        Ok(())
    }

    fn directive_name(&mut self, context: Context) -> ScanResult<String> {
        let name =
            self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
        if name.is_empty() || !self.is_at_space_or_line_end() {
            return self.fail_expected(context, "alphabetic or numeric character");
        }
        Ok(name)
    }

    fn scan_version(&mut self, context: Context) -> ScanResult<Directive> {
        self.skip_spaces();
        let major = self.scan_number(context)?;
        if self.peek_char(0) != '.' {
            return self.fail_expected(context, "a digit or '.'");
        }
        self.forward(1);
        self.scan_number(context)?;
        if !self.is_at_space_or_line_end() {
            return self.fail_expected(context, "a digit or ' '");
        }
        Ok(Directive::Version { major })
    }

    fn scan_number(&mut self, context: Context) -> ScanResult<String> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            self.fail_expected(context, "a digit")
        } else {
            Ok(digits)
        }
    }

    fn tag_directive(&mut self, context: Context) -> ScanResult<Directive> {
        self.skip_spaces();
        let handle = self.tag_handle(context)?;
        if self.peek_char(0) != ' ' {
            return self.fail_expected(context, "' '");
        }
        self.skip_spaces();
        self.tag_uri(("while parsing a directive", context.1), context)?;
        if !self.is_at_space_or_line_end() {
            return self.fail_expected(context, "' '");
        }
        Ok(Directive::Tag { handle })
    }
}
