//! The terms of an index, in alphabetical order.

/// A sorted list of terms; a term is known by its position.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    text: String,
    /// The end of each term in `text`.
    ends: Vec<u32>,
}

impl Vocabulary {
    /// Adds a term, in parts, that is after all others. Terms beyond 4 GiB of text are dropped.
    pub(crate) fn push<const N: usize>(&mut self, parts: [&str; N]) {
        parts.iter().for_each(|part| self.text.push_str(part));
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.ends.push(end);
    }

    /// Creates a vocabulary from its text and the ends of its terms; `None` unless the ends are
    /// ascending, at the ends of characters, and the terms sorted.
    pub(crate) fn from_parts(text: String, ends: Vec<u32>) -> Option<Self> {
        let mut start = 0;
        let mut previous = "";
        for end in &ends {
            let end = usize::try_from(*end).ok()?;
            let term = text.get(start..end)?;
            if term <= previous {
                return None;
            }
            (start, previous) = (end, term);
        }
        (start == text.len()).then_some(Self { text, ends })
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    pub(crate) fn term(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }

    pub(crate) fn find(&self, term: &str) -> Option<u32> {
        let place = self.first_from(term);
        let found = place < self.len() && self.term(place) == term;
        u32::try_from(place).ok().filter(|_| found)
    }

    /// Returns the words that begin with a text.
    pub(crate) fn words_with_prefix(&self, prefix: &str) -> impl Iterator<Item = u32> {
        let places = self.first_from(prefix)..self.len();
        places
            .take_while(move |place| self.term(*place).starts_with(prefix))
            .filter(|place| !self.term(*place).contains(' '))
            .filter_map(|place| u32::try_from(place).ok())
    }

    /// Returns the place of the first term that is not before a text.
    pub(crate) fn first_from(&self, text: &str) -> usize {
        let mut range = 0..self.len();
        while !range.is_empty() {
            let middle = range.start.midpoint(range.end);
            if self.term(middle) < text {
                range.start = middle + 1;
            } else {
                range.end = middle;
            }
        }
        range.start
    }
}
