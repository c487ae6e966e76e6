//! How much room the catalogue may take.

/// How much room the entries of a catalogue may take; the fixed text around them does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Tokens, which are 2 % of a context window; counted as [`Tokens`](Self::Tokens) are.
    WindowShare(usize),
    /// Tokens, at four UTF-8 bytes each, rounded up for every entry; or as a [`Tokenizer`] counts.
    Tokens(usize),
    /// Unicode characters.
    Characters(usize),
}

/// Counts the tokens of a text as a model's own tokenizer does; any `Fn(&str) -> usize` is one.
///
/// It is asked about each entry by itself, its line end included. The more it counts for a longer
/// text, the better the budget is used.
pub trait Tokenizer {
    /// Returns how many tokens `text` has.
    fn count(&self, text: &str) -> usize;
}

impl<F: Fn(&str) -> usize> Tokenizer for F {
    fn count(&self, text: &str) -> usize {
        self(text)
    }
}

impl Budget {
    /// Returns Codex's budget: 2 % of the context window, at least one token; 8,000 characters when
    /// the window is unknown or 0.
    #[must_use]
    pub fn for_context_window(tokens: Option<usize>) -> Self {
        match tokens {
            Some(window) if window > 0 => {
                Self::WindowShare((window.saturating_mul(2) / 100).max(1))
            }
            _ => Self::Characters(8_000),
        }
    }

    /// Returns how much there is, in the budget's own unit.
    #[must_use]
    pub fn limit(self) -> usize {
        match self {
            Self::WindowShare(limit) | Self::Tokens(limit) | Self::Characters(limit) => limit,
        }
    }

    /// Returns the unit as a word: `tokens` or `characters`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::WindowShare(_) | Self::Tokens(_) => "tokens",
            Self::Characters(_) => "characters",
        }
    }

    /// Returns what an entry and its line end cost, without a tokenizer.
    #[must_use]
    pub fn cost(self, entry: &str) -> usize {
        self.cost_of_size(TextSize::from_text(entry))
    }

    /// Returns what an entry of this size and its line end cost.
    pub(crate) fn cost_of_size(self, size: TextSize) -> usize {
        match self {
            Self::WindowShare(_) | Self::Tokens(_) => (size.bytes + 1).div_ceil(4),
            Self::Characters(_) => size.characters + 1,
        }
    }
}

/// How long a text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextSize {
    pub(crate) bytes: usize,
    pub(crate) characters: usize,
}

impl TextSize {
    pub(crate) fn from_text(text: &str) -> Self {
        // Counting characters byte by byte is quick for the compiler's vectors.
        Self {
            bytes: text.len(),
            characters: text.bytes().filter(|b| (*b as i8) >= -0x40).count(),
        }
    }
}

impl std::ops::Add for TextSize {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            characters: self.characters + other.characters,
        }
    }
}

/// A budget, and who counts for it.
#[derive(Clone, Copy)]
pub(crate) struct CostMeter<'a> {
    pub(crate) budget: Budget,
    pub(crate) tokenizer: Option<&'a dyn Tokenizer>,
}

impl<'a> CostMeter<'a> {
    /// Returns the tokenizer, where one decides.
    pub(crate) fn tokenizer(&self) -> Option<&'a dyn Tokenizer> {
        self.tokenizer
            .filter(|_| !matches!(self.budget, Budget::Characters(_)))
    }

    /// What an entry and its line end cost.
    pub(crate) fn entry_cost(&self, entry: &str) -> usize {
        match self.tokenizer() {
            Some(tokenizer) => tokenizer.count(&format!("{entry}\n")),
            None => self.budget.cost(entry),
        }
    }

    /// What several lines cost.
    pub(crate) fn lines_cost(&self, text: &str) -> usize {
        text.lines().map(|line| self.entry_cost(line)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_per_cent_of_the_window() {
        assert_eq!(
            Budget::for_context_window(Some(200_000)),
            Budget::WindowShare(4_000)
        );
        assert_eq!(Budget::for_context_window(Some(99)), Budget::WindowShare(1));
        assert_eq!(
            Budget::for_context_window(Some(0)),
            Budget::Characters(8_000)
        );
        assert_eq!(Budget::for_context_window(None), Budget::Characters(8_000));
    }

    #[test]
    fn sizes() {
        assert_eq!(
            TextSize::from_text("aé日👨"),
            TextSize {
                bytes: 10,
                characters: 4
            }
        );
        assert_eq!(Budget::Tokens(0).cost("abc"), 1);
        assert_eq!(Budget::Tokens(0).cost("abcd"), 2);
        assert_eq!(Budget::Characters(0).cost("日本"), 3);
    }
}
