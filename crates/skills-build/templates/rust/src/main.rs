//! Counts the words of `references/words.txt` in a text.

use std::error::Error;
use std::{fs, io};

use serde_json::{Map, Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let input: Value = serde_json::from_reader(io::stdin())?;
    let text = input["text"]
        .as_str()
        .ok_or("the input must be {\"text\": …}")?
        .to_lowercase();
    let words = fs::read_to_string("/skill/references/words.txt")?;
    let counts: Map<String, Value> = words
        .lines()
        .map(|word| (word.to_owned(), json!(text.matches(word).count())))
        .collect();
    println!("{}", json!({ "counts": counts }));
    Ok(())
}
