//! Positional arguments, which are identified by their position.

use serde_json::{Map, Value};

use super::super::argument::{Argument, ArgumentStyle};
use super::{ArgvBuilder, ArgvError, to_word};

/// Adds positional arguments, if the script assigns each word to the right one.
pub(super) fn push_positionals<'a>(
    given: &Map<String, Value>,
    arguments: &'a [Argument],
    words: &mut ArgvBuilder<'a>,
) -> Result<(), ArgvError> {
    let places: Vec<PositionalArgument<'_>> = arguments
        .iter()
        .filter_map(|argument| PositionalArgument::try_new(argument, given.get(&argument.name)))
        .collect();
    let mut left: usize = places.iter().map(|place| place.words.len()).sum();
    if left == 0 {
        return Ok(());
    }
    // Each argument takes as many words as leave the minimum for the later ones.
    let mut later: usize = places.iter().map(|place| place.min).sum();
    for place in &places {
        later -= place.min;
        let taken = left.saturating_sub(later).min(place.max);
        if taken != place.words.len() || taken < place.min {
            return Err(ArgvError::Ambiguous {
                argument: place.argument.to_owned(),
            });
        }
        left -= taken;
    }
    let starts_with_hyphen = places
        .iter()
        .flat_map(|place| &place.words)
        .any(|word| word.starts_with('-'));
    if starts_with_hyphen || words.has_open_option {
        words.push("--".to_owned())?;
    }
    for place in places {
        words.argument = place.argument;
        // argparse removes the first `--` of each positional argument, in some versions everywhere.
        if place.words.iter().any(|word| word == "--") {
            return Err(ArgvError::LeadingHyphen {
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

/// A positional argument with its words.
struct PositionalArgument<'a> {
    argument: &'a str,
    min: usize,
    max: usize,
    words: Vec<String>,
}

impl<'a> PositionalArgument<'a> {
    fn try_new(argument: &'a Argument, value: Option<&Value>) -> Option<Self> {
        let ArgumentStyle::Positional {
            min: least,
            max: most,
        } = argument.style
        else {
            return None;
        };
        let words = match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(to_word).collect(),
            Some(value) => vec![to_word(value)],
        };
        Some(Self {
            argument: &argument.name,
            min: least,
            max: most,
            words,
        })
    }
}
