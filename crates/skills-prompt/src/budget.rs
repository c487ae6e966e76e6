//! How much room the catalogue may take.

/// How much room the lines of a catalogue may take; the fixed text around them does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Tokens, at four UTF-8 bytes each, rounded up for every line.
    Tokens(usize),
    /// Unicode characters.
    Characters(usize),
}

impl Budget {
    /// Returns Codex's budget: 2 % of the context window, at least one token; 8,000 characters when the window is unknown or 0.
    #[must_use]
    pub fn for_context_window(tokens: Option<usize>) -> Self {
        match tokens {
            Some(window) if window > 0 => Self::Tokens((window.saturating_mul(2) / 100).max(1)),
            _ => Self::Characters(8_000),
        }
    }

    /// Returns how much there is, in the budget's own unit.
    #[must_use]
    pub fn limit(self) -> usize {
        match self {
            Self::Tokens(limit) | Self::Characters(limit) => limit,
        }
    }

    /// Returns what a line and its line end cost.
    #[must_use]
    pub fn cost(self, line: &str) -> usize {
        match self {
            Self::Tokens(_) => (line.len() + 1).div_ceil(4),
            Self::Characters(_) => line.chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_per_cent_of_the_window() {
        assert_eq!(Budget::for_context_window(Some(200_000)), Budget::Tokens(4_000));
        assert_eq!(Budget::for_context_window(Some(99)), Budget::Tokens(1));
        assert_eq!(Budget::for_context_window(Some(0)), Budget::Characters(8_000));
        assert_eq!(Budget::for_context_window(None), Budget::Characters(8_000));
    }
}
