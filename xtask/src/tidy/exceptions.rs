//! Compares what exceeds a limit with the exceptions from it, which may only shrink.

use std::collections::BTreeMap;

/// A limit of how many things have one name.
pub(super) struct Limit {
    /// The things, in the plural.
    pub(super) things: &'static str,
    pub(super) most: usize,
    /// The names that exceed the limit, each with its number.
    pub(super) exceptions: &'static [(&'static str, usize)],
    /// The file that contains the exceptions, for messages.
    pub(super) file: &'static str,
}

impl Limit {
    /// Returns the problems of names with their things.
    pub(super) fn problems(&self, found: &BTreeMap<String, Vec<String>>) -> Vec<String> {
        let Self {
            things, most, file, ..
        } = self;
        let new_or_changed = found.iter().filter_map(|(name, members)| {
            let number = members.len();
            let exception = self.exceptions.iter().find(|(other, _)| other == name);
            let allowed = exception.map_or(*most, |(_, number)| *number);
            if number > allowed {
                let members = members.join(", ");
                return Some(format!(
                    "{name}: {number} {things}, at most {allowed} are allowed: {members}"
                ));
            }
            (number > *most && number < allowed)
                .then(|| format!("{name}: {number} {things}; lower its exception in {file}"))
        });
        let is_needed = |name| found.get(name).is_some_and(|members| members.len() > *most);
        let obsolete = self
            .exceptions
            .iter()
            .filter(|(name, _)| !is_needed(*name))
            .map(|(name, _)| {
                format!("{name}: at most {most} {things}; remove its exception from {file}")
            });
        new_or_changed.chain(obsolete).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_shrinks_with_its_number_and_is_removed_when_needless() {
        let limit = Limit {
            things: "files",
            most: 1,
            exceptions: &[
                ("same", 3),
                ("grown", 2),
                ("shrunk", 3),
                ("small", 3),
                ("gone", 3),
            ],
            file: "list.rs",
        };
        let found = [
            ("same", "a b c"),
            ("grown", "a b c"),
            ("shrunk", "a b"),
            ("small", "a"),
            ("new", "a b"),
            ("allowed", "a"),
        ];
        let found = found.map(|(name, members)| {
            let members = members.split(' ').map(str::to_owned).collect();
            (name.to_owned(), members)
        });
        assert_eq!(
            limit.problems(&found.into()),
            [
                "grown: 3 files, at most 2 are allowed: a, b, c",
                "new: 2 files, at most 1 are allowed: a, b",
                "shrunk: 2 files; lower its exception in list.rs",
                "small: at most 1 files; remove its exception from list.rs",
                "gone: at most 1 files; remove its exception from list.rs",
            ]
        );
    }
}
