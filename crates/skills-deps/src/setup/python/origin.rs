//! What an index says about the origin of a package.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::plan::{PackageOrigin, Plan};
use skills_packages::normalize_name;

/// Maximum number of owners.
const MAX_OWNERS: usize = 3;
/// Maximum length of the name of an owner, in bytes.
const MAX_OWNER_BYTES: usize = 64;
/// The length of a date: `2024-01-31`.
const DATE_BYTES: usize = 10;

/// What the setup program read from the index.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ReportedOrigin {
    name: String,
    /// The time of the first upload, as RFC 3339 says.
    first: Option<String>,
    owners: Vec<String>,
    /// The sizes of files by their SHA-256 digests.
    sizes: BTreeMap<String, u64>,
}

impl ReportedOrigin {
    /// Adds it to a plan, if the index was asked for it. A person reads it in a question, so only
    /// dates and plain names are kept.
    pub(super) fn add_to(self, plan: &mut Plan, asked: &[String]) {
        if !asked.contains(&self.name) {
            return;
        }
        let name = normalize_name(&self.name);
        for package in plan
            .packages
            .iter_mut()
            .filter(|package| package.name == name)
        {
            let mut digests = package.sha256.iter();
            let size = digests.find_map(|digest| self.sizes.get(digest));
            package.size = package.size.or(size.copied());
        }
        let mut owners = self.owners;
        owners.retain(|owner| is_plain_name(owner));
        owners.truncate(MAX_OWNERS);
        plan.origins.retain(|known| known.name != name);
        plan.origins.push(PackageOrigin {
            name,
            first_release: self.first.as_deref().and_then(date).map(str::to_owned),
            owners,
        });
    }
}

/// Returns the date of a time; `None` if it has another form.
fn date(time: &str) -> Option<&str> {
    let date = time.get(..DATE_BYTES)?;
    let is_valid = date.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_valid.then_some(date)
}

fn is_plain_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    !text.trim().is_empty() && text.len() <= MAX_OWNER_BYTES && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dates_and_plain_names_are_kept() {
        let report = |text: &str| {
            let origin: ReportedOrigin = serde_json::from_str(text).unwrap();
            let mut plan = Plan::empty();
            origin.add_to(&mut plan, &["a".to_owned()]);
            let origins = plan.origins.into_iter();
            origins
                .map(|origin| (origin.first_release, origin.owners))
                .next()
        };
        let known = report(r#"{"name": "a", "first": "2011-06-26T08:00:00Z", "owners": ["ada"]}"#);
        let date = Some("2011-06-26".to_owned());
        assert_eq!(known, Some((date, vec!["ada".to_owned()])));
        let hostile = r#"{"name": "a", "first": "2011-06-2\u001b[2J", "owners": ["x`; safe", ""]}"#;
        assert_eq!(report(hostile), Some((None, Vec::new())));
        assert_eq!(report(r#"{"name": "b"}"#), None);
    }
}
