//! The properties of a phrase by which the rules of both languages decide.

/// The kind of a verb or preposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Requests something: "use".
    Imperative,
    /// Modifies a task, and needs the word "skill": "with".
    Preposition,
}

/// Whether a phrase contains the word "skill".
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SkillWord {
    Present,
    Absent,
}

/// Whether a sentence ends with a question mark.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sentence {
    Question,
    Statement,
}

/// Whether a question contains words of a polite request.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Politeness {
    Polite,
    Neutral,
}
