//! The token or character budget of the skill list.

use std::fmt;

/// The budget of the entries of a skill list, in tokens or characters.
///
/// It limits the entries and the table of root aliases. Headings, introduction and usage
/// instructions do not count, so the whole section is longer than the budget.
///
/// ```
/// use skills_prompt::Budget;
///
/// let budget = Budget::for_context_window(Some(200_000));
/// assert_eq!((budget.limit(), budget.unit()), (4_000, "tokens"));
/// // Four bytes count as one token, and each entry has a line end.
/// assert_eq!(budget.cost("- a: (file: /a)"), 4);
/// assert_eq!(Budget::Characters(100).cost("- a: (file: /a)"), 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Tokens that are 2 % of a context window, counted like [`Tokens`](Self::Tokens). Warnings
    /// mention the share.
    WindowShare(usize),
    /// Tokens: four UTF-8 bytes each, rounded up per entry, or as counted by a [`Tokenizer`].
    Tokens(usize),
    /// Unicode scalar values; a tokenizer has no effect.
    Characters(usize),
}

/// Counts the tokens of a text like the tokenizer of a model does.
///
/// Every `Fn(&str) -> usize` implements it. It is called with one entry at a time, including its
/// line end, and several times per entry. The planner searches by bisection, so it uses the budget
/// best if a longer text never has fewer tokens; the budget is never exceeded.
pub trait Tokenizer {
    /// Returns the number of tokens of `text`.
    fn count(&self, text: &str) -> usize;
}

impl fmt::Debug for dyn Tokenizer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokenizer")
    }
}

impl<F: Fn(&str) -> usize> Tokenizer for F {
    fn count(&self, text: &str) -> usize {
        self(text)
    }
}

impl Budget {
    /// Returns the budget of Codex: 2 % of a context window of `tokens`, but at least one token;
    /// 8,000 characters if the window is unknown or 0.
    #[must_use]
    pub fn for_context_window(tokens: Option<usize>) -> Self {
        match tokens {
            Some(window) if window > 0 => {
                // As in Codex: a window of which 2 % round to 0 still has a budget.
                Self::WindowShare((window.saturating_mul(2) / 100).max(1))
            }
            _ => Self::Characters(8_000),
        }
    }

    /// Returns the limit, in [`unit`](Self::unit)s.
    #[must_use]
    pub fn limit(self) -> usize {
        match self {
            Self::WindowShare(limit) | Self::Tokens(limit) | Self::Characters(limit) => limit,
        }
    }

    /// Returns the budget that is left after `cost`; `None` if nothing is left.
    pub(crate) fn without(self, cost: usize) -> Option<Self> {
        let limit = self.limit().checked_sub(cost).filter(|limit| *limit > 0)?;
        Some(match self {
            Self::WindowShare(_) => Self::WindowShare(limit),
            Self::Tokens(_) => Self::Tokens(limit),
            Self::Characters(_) => Self::Characters(limit),
        })
    }

    /// Returns the unit: `tokens` or `characters`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::WindowShare(_) | Self::Tokens(_) => "tokens",
            Self::Characters(_) => "characters",
        }
    }

    /// Returns the cost of an entry with its line end, without a tokenizer.
    #[must_use]
    pub fn cost(self, entry: &str) -> usize {
        self.cost_of_size(TextSize::from_text(entry))
    }

    /// Returns the cost of an entry of this size with its line end.
    pub(crate) fn cost_of_size(self, size: TextSize) -> usize {
        match self {
            // Rounded up per entry, so that the cost of an entry does not depend on its neighbors.
            Self::WindowShare(_) | Self::Tokens(_) => (size.bytes + 1).div_ceil(4),
            Self::Characters(_) => size.characters + 1,
        }
    }
}

/// The length of a text in both units, so that one pass serves every budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextSize {
    pub(crate) bytes: usize,
    pub(crate) characters: usize,
}

impl TextSize {
    /// Returns the size of an ASCII text of this length.
    pub(crate) fn ascii(length: usize) -> Self {
        Self {
            bytes: length,
            characters: length,
        }
    }

    pub(crate) fn from_text(text: &str) -> Self {
        // Counts the bytes that do not continue a character; unlike `chars().count()` on some
        // targets, this loop vectorizes.
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

/// Computes costs for a budget, with the tokenizer of the caller if it has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CostMeter<'a> {
    pub(crate) budget: Budget,
    pub(crate) tokenizer: Option<&'a dyn Tokenizer>,
}

impl<'a> CostMeter<'a> {
    /// Returns the tokenizer if it is in effect.
    pub(crate) fn tokenizer(&self) -> Option<&'a dyn Tokenizer> {
        // Characters need no tokenizer; ignoring it keeps the fast path of sizes.
        self.tokenizer
            .filter(|_| !matches!(self.budget, Budget::Characters(_)))
    }

    /// Returns the cost of an entry with its line end.
    pub(crate) fn entry_cost(&self, entry: &str) -> usize {
        match self.tokenizer() {
            Some(tokenizer) => tokenizer.count(&format!("{entry}\n")),
            None => self.budget.cost(entry),
        }
    }

    /// Returns the cost of several lines, each counted as an entry of its own.
    pub(crate) fn lines_cost(&self, text: &str) -> usize {
        text.lines().map(|line| self.entry_cost(line)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_two_percent_of_the_window() {
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
    fn sizes_count_bytes_and_characters() {
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
