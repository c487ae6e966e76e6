//! Positional arguments: words that only their place gives a meaning.

use serde_json::{Map, Value};

use super::super::argument::{Argument, Form};
use super::{PassError, Words, text};

/// Passes positional arguments, if the script takes each word for what it is.
pub(super) fn pass<'a>(
    given: &Map<String, Value>,
    arguments: &'a [Argument],
    words: &mut Words<'a>,
) -> Result<(), PassError> {
    let places: Vec<Place<'_>> = arguments
        .iter()
        .filter_map(|argument| Place::of(argument, given.get(&argument.name)))
        .collect();
    let mut left: usize = places.iter().map(|place| place.words.len()).sum();
    if left == 0 {
        return Ok(());
    }
    // Each argument takes as many words as leave the later ones their fewest.
    let mut later: usize = places.iter().map(|place| place.least).sum();
    for place in &places {
        later -= place.least;
        let taken = left.saturating_sub(later).min(place.most);
        if taken != place.words.len() || taken < place.least {
            return Err(PassError::Ambiguous {
                argument: place.argument.to_owned(),
            });
        }
        left -= taken;
    }
    let starts_with_hyphen = places
        .iter()
        .flat_map(|place| &place.words)
        .any(|word| word.starts_with('-'));
    if starts_with_hyphen || words.is_open {
        words.push("--".to_owned())?;
    }
    for place in places {
        words.argument = place.argument;
        // argparse drops the first `--` of each positional argument, in some versions everywhere.
        if place.words.iter().any(|word| word == "--") {
            return Err(PassError::LeadingHyphen {
                argument: place.argument.to_owned(),
            });
        }
        place
            .words
            .into_iter()
            .try_for_each(|word| words.push(word))?;
    }
    Ok(())
}

/// A positional argument with the words given for it.
struct Place<'a> {
    argument: &'a str,
    least: usize,
    most: usize,
    words: Vec<String>,
}

impl<'a> Place<'a> {
    fn of(argument: &'a Argument, value: Option<&Value>) -> Option<Self> {
        let Form::Positional { least, most } = argument.form else {
            return None;
        };
        let words = match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(text).collect(),
            Some(value) => vec![text(value)],
        };
        Some(Self {
            argument: &argument.name,
            least,
            most,
            words,
        })
    }
}
