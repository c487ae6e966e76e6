//! What the tools of scripts are called.

use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};

use super::stem;

/// The longest name that every model API takes, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 64;

/// The names of the tools of a whole catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// A name for each script, in the order in which the scripts were given: unique, at most 64 bytes of `[A-Za-z0-9_-]`.
    pub(crate) names: Vec<String>,
    /// The scripts that did not get the name that was theirs alone, in byte order.
    pub(crate) collisions: Vec<Collision>,
}

/// A script whose name was taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Collision {
    /// The skill.
    pub(crate) skill: String,
    /// The script.
    pub(crate) file: String,
    /// The name that it would have.
    pub(crate) wanted: String,
    /// The skill and the script that have that name.
    pub(crate) keeper: (String, String),
    /// The name that it has instead.
    pub(crate) name: String,
}

/// Names the scripts of a catalogue, given as skill and file name: `skill__{skill}__{stem}`, with `_` for what such a name may not have.
///
/// A name that is too long is cut and ends in a hash of the whole. Of scripts that would share a name, one keeps it: Python before other
/// languages, then the script that is spelled exactly so, then byte order of skill and file. The others add their ending, or a hash if that
/// is taken too. The order of the list decides only between scripts whose skill and file are both the same: the first comes first.
/// A script that is added changes the names of others only when it would have the name of one of them.
///
/// Names are not to be taken apart again: `__` may stand in a stem.
pub(crate) fn names<S: AsRef<str>>(scripts: &[(S, S)]) -> Names {
    let mut groups: BTreeMap<String, Vec<Claim<'_>>> = BTreeMap::new();
    for (index, (skill, file)) in scripts.iter().enumerate() {
        let claim = Claim { skill: skill.as_ref(), file: file.as_ref(), index };
        groups.entry(fit(&claim.full(), &claim.full())).or_default().push(claim);
    }
    let mut taken: HashSet<String> = groups.keys().cloned().collect();
    let mut names = vec![String::new(); scripts.len()];
    let mut collisions = Vec::new();
    for (plain, mut claims) in groups {
        claims.sort_by_key(|claim| claim.rank(&plain));
        let mut claims = claims.into_iter();
        let Some(keeper) = claims.next() else { continue };
        for claim in claims {
            let name = claim.other(&mut taken);
            collisions.push(claim.collision(&plain, &keeper, &name));
            names[claim.index] = name;
        }
        names[keeper.index] = plain;
    }
    collisions.sort();
    Names { names, collisions }
}

/// A script that wants a name.
struct Claim<'a> {
    skill: &'a str,
    file: &'a str,
    index: usize,
}

impl<'a> Claim<'a> {
    fn full(&self) -> String {
        format!("skill__{}__{}", self.skill, stem(self.file))
    }

    /// Orders those who want the same name: the least keeps it.
    fn rank(&self, plain: &str) -> (bool, bool, &'a str, &'a str, usize) {
        (!self.file.ends_with(".py"), self.full() != plain, self.skill, self.file, self.index)
    }

    /// Finds a name that is not taken, and takes it.
    fn other(&self, taken: &mut HashSet<String>) -> String {
        let full = self.full();
        let ending = self.file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let suffixed = format!("{full}_{ending}");
        let mut name = fit(&suffixed, &suffixed);
        let mut attempt = 0_u32;
        while !taken.insert(name.clone()) {
            // The length before the name keeps `a` + `b__c` and `a__b` + `c` apart.
            name = hashed(&full, &format!("{} {} {} {attempt}", self.skill.len(), self.skill, self.file));
            attempt += 1;
        }
        name
    }

    fn collision(&self, plain: &str, keeper: &Claim<'_>, name: &str) -> Collision {
        Collision {
            skill: self.skill.to_owned(),
            file: self.file.to_owned(),
            wanted: plain.to_owned(),
            keeper: (keeper.skill.to_owned(), keeper.file.to_owned()),
            name: name.to_owned(),
        }
    }
}

impl std::fmt::Display for Collision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { skill, file, wanted, keeper: (other_skill, other_file), name } = self;
        write!(f, "{file:?} of {skill:?} is the tool {name}, because {wanted} is {other_file:?} of {other_skill:?}")
    }
}

/// Maps what a name may not have to `_`, and shortens what is too long.
fn fit(full: &str, hash_of: &str) -> String {
    if full.len() <= MAX_NAME_BYTES { mapped(full) } else { hashed(full, hash_of) }
}

/// Cuts a name and ends it in the first 8 hexadecimal digits of a SHA-256.
fn hashed(full: &str, hash_of: &str) -> String {
    let digest = Sha256::digest(hash_of.as_bytes());
    let mut name = mapped(full);
    name.truncate(MAX_NAME_BYTES - 9);
    name.push('_');
    name.extend(digest.iter().take(4).map(|byte| format!("{byte:02x}")));
    name
}

fn mapped(full: &str) -> String {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    full.bytes().map(|byte| if is_allowed(byte) { char::from(byte) } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(scripts: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(names(scripts).names, expected);
    }

    #[test]
    fn a_script_alone_has_its_plain_name() {
        check(&[("weather", "get_forecast.py")], &["skill__weather__get_forecast"]);
        check(&[("tax_calculator", "calculate_duty.py")], &["skill__tax_calculator__calculate_duty"]);
        check(&[("w", "a b.c.sh"), ("w", "天.py")], &["skill__w__a_b_c", "skill__w_____"]);
        assert!(names(&[("a", "b.py"), ("a", "c.sh")]).collisions.is_empty());
    }

    #[test]
    fn python_keeps_the_name_that_a_shell_script_wants_too() {
        check(&[("w", "a.sh"), ("w", "a.py")], &["skill__w__a_sh", "skill__w__a"]);
        let found = names(&[("w", "a.sh"), ("w", "a.py")]);
        assert_eq!(found.collisions[0].to_string(), r#""a.sh" of "w" is the tool skill__w__a_sh, because skill__w__a is "a.py" of "w""#);
    }

    #[test]
    fn a_suffix_never_takes_the_name_of_a_third() {
        let found = names(&[("w", "a.sh"), ("w", "a.py"), ("w", "a_sh.py")]).names;
        assert_eq!(found[1..], ["skill__w__a", "skill__w__a_sh"]);
        assert!(found[0].starts_with("skill__w__a_") && found[0].len() == "skill__w__a_".len() + 8, "{found:?}");
    }

    #[test]
    fn ambiguous_and_mapped_names_stay_apart() {
        check(&[("a__b", "c.py"), ("a", "b__c.py")], &["skill__a__b__c_py", "skill__a__b__c"]);
        check(&[("w", "a b.py"), ("w", "a_b.py")], &["skill__w__a_b_py", "skill__w__a_b"]);
    }

    #[test]
    fn of_two_skills_of_one_name_the_first_keeps_its_names() {
        check(&[("w", "a.py"), ("w", "a.py")], &["skill__w__a", "skill__w__a_py"]);
    }

    #[test]
    fn a_long_name_ends_in_the_hash_of_the_whole() {
        let long = format!("{}.py", "x".repeat(80));
        let found = names(&[("weather", long.as_str())]).names;
        let digest = Sha256::digest(format!("skill__weather__{}", "x".repeat(80)));
        let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, [format!("skill__weather__{}_{hash}", "x".repeat(39))]);
        assert_eq!(found[0].len(), MAX_NAME_BYTES);
    }

    fn scripts() -> impl Strategy<Value = Vec<(String, String)>> {
        let skill = prop_oneof!["[ab_]{1,4}", "\\PC{0,70}"];
        let file = (prop_oneof!["[ab_ .é]{1,4}", "\\PC{0,70}"], prop_oneof![Just("py"), Just("sh")]);
        prop::collection::vec((skill, file.prop_map(|(stem, ending)| format!("{stem}.{ending}"))), 0..12)
    }

    proptest! {
        #[test]
        fn names_are_unique_short_and_plain(scripts in scripts()) {
            let found = names(&scripts).names;
            prop_assert_eq!(found.len(), scripts.len());
            prop_assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
            for name in &found {
                prop_assert!(name.len() <= MAX_NAME_BYTES && !name.is_empty());
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
            }
        }

        #[test]
        fn the_order_of_the_list_does_not_matter(scripts in scripts(), shuffled in any::<prop::sample::Index>()) {
            let mut scripts = scripts;
            scripts.sort();
            scripts.dedup();
            let here = names(&scripts);
            let mut turned = scripts.clone();
            if !turned.is_empty() {
                let by = shuffled.index(turned.len());
                turned.rotate_left(by);
                turned.reverse();
            }
            let there = names(&turned);
            prop_assert_eq!(&here.collisions, &there.collisions);
            for (script, name) in scripts.iter().zip(&here.names) {
                let at = turned.iter().position(|other| other == script).unwrap();
                prop_assert_eq!(name, &there.names[at]);
            }
        }

        #[test]
        fn an_unrelated_script_changes_no_name(scripts in scripts(), added in scripts()) {
            let before = names(&scripts).names;
            for script in added {
                if before.contains(&names(std::slice::from_ref(&script)).names[0]) {
                    continue;
                }
                let mut more = scripts.clone();
                more.insert(0, script);
                prop_assert_eq!(&names(&more).names[1..], &before[..]);
            }
        }
    }
}
