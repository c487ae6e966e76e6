//! What allows beforehand what nobody could be asked.

use skills_tools::runtime::policy::{Content, Question};

/// Names the command by which the owner of the server allows what nobody could be asked. It names no path of this machine.
pub(crate) fn hint(question: &Question) -> String {
    let is_skill = question.digest.is_some() && question.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let of_content = question.asks_for_content || matches!(question.content, Content::New | Content::Changed { .. });
    let approve = (is_skill && of_content).then(|| format!("`skills trust {}` approves this skill as it is now", question.name));
    let rule = "`skills mcp --allow PERMISSION` allows a permission while the server runs";
    let ways: Vec<String> = approve.into_iter().chain([rule.to_owned()]).collect();
    format!("this client cannot ask its user; where the server runs, {}", ways.join(", and "))
}
