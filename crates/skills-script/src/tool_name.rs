//! Names of script tools.

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::stem;

/// Maximum length that every model API accepts, in bytes.
pub const MAX_NAME_BYTES: usize = 64;
/// Prefix of all names.
pub const TOOL_NAME_PREFIX: &str = "skill__";
/// Separator of the parts of a name.
const SEPARATOR: &str = "__";
/// Number of hexadecimal digits of a hash. Clients store names beyond the life of a script, so a
/// second preimage must be infeasible.
const HASH_DIGITS: usize = 16;

/// The scripts of one skill that become tools, as input of [`assign_names`].
///
/// A shadowed skill is passed without scripts: it has no tools, but its name still makes the names
/// of other skills ambiguous, so that tools keep their names when the shadow goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSet<'a> {
    /// The name of the skill.
    pub name: &'a str,
    /// The canonical path of its directory, which is unique.
    pub directory: &'a Path,
    /// Paths relative to `scripts/`, without duplicates.
    pub files: &'a [String],
}

/// The result of [`assign_names`]: the tool names of a whole catalog.
///
/// Names are assigned together, because a name is unique in the list that a model receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames {
    /// A name for each script, skill by skill in the given order: unique, at most 64 bytes of
    /// `[A-Za-z0-9_-]`.
    pub names: Vec<String>,
    /// Scripts whose plain name is ambiguous, in byte order.
    pub collisions: Vec<Collision>,
}

/// A script whose name has a hash because its plain name is ambiguous.
///
/// `Display` says which name the script would have had and which one it has, for a warning to the
/// operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Collision {
    skill: String,
    file: String,
    /// The ambiguous name; `None` if the skill name itself is ambiguous.
    requested_name: Option<String>,
    name: String,
}

/// Assigns names to the scripts of a catalog: `skill__{skill}__{stem}`, where that is unambiguous.
/// In a subdirectory the `/` of the path becomes `_`, as in `skill__pdf__forms_fill`.
///
/// A hash of skill and file is appended after another `__` if a part has other characters than
/// letters, digits, `_` and `-`, contains `__`, or starts or ends with `_`; if the name is longer
/// than 64 bytes; and if scripts of one skill differ only in their extension. If several skills
/// have the same name, or the hashes of two scripts are equal, the hash covers the skill directory,
/// too.
///
/// A name is never reassigned: a new script or skill may make a name ambiguous, so that its owner
/// gets one with a hash, but does not get the name itself. The order of the list does not matter.
pub fn assign_names(skills: &[ScriptSet<'_>]) -> ToolNames {
    assign_with_digits(skills, HASH_DIGITS)
}

fn assign_with_digits(skills: &[ScriptSet<'_>], digits: usize) -> ToolNames {
    let claims = name_claims(skills);
    let names = choose_names(&claims, digits);
    let mut collisions: Vec<Collision> = claims
        .iter()
        .zip(&names)
        .filter_map(|(claim, name)| claim.collision(name))
        .collect();
    collisions.sort();
    ToolNames { names, collisions }
}

fn choose_names(claims: &[NameClaim<'_>], digits: usize) -> Vec<String> {
    let plain = keep_unique(claims.iter().map(NameClaim::plain_name));
    let short = keep_unique(
        claims
            .iter()
            .zip(&plain)
            .map(|(claim, plain)| plain.is_none().then(|| claim.portable_hashed_name(digits))),
    );
    let chosen = plain
        .into_iter()
        .zip(short)
        .map(|(plain, short)| plain.or(short));
    claims
        .iter()
        .zip(chosen)
        // The plain name would belong to either of the skills, and clients remember permissions by
        // tool name.
        .map(|(claim, name)| {
            name.filter(|_| !claim.shares_skill_name)
                .unwrap_or_else(|| claim.unique_hashed_name())
        })
        .collect()
}

/// Keeps the names that occur once.
fn keep_unique(names: impl Iterator<Item = Option<String>>) -> Vec<Option<String>> {
    let mut names: Vec<Option<String>> = names.collect();
    let mut counts: HashMap<String, usize> = HashMap::with_capacity(names.len());
    for name in names.iter().flatten() {
        *counts.entry(name.clone()).or_default() += 1;
    }
    for name in &mut names {
        name.take_if(|name| counts[name.as_str()] > 1);
    }
    names
}

fn name_claims<'a>(skills: &'a [ScriptSet<'a>]) -> Vec<NameClaim<'a>> {
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(skills.len());
    for skill in skills {
        *counts.entry(skill.name).or_default() += 1;
    }
    let of_skill = |skill: &'a ScriptSet<'a>| {
        let is_shared = counts[skill.name] > 1;
        skill.files.iter().map(move |file| NameClaim {
            skill,
            file,
            shares_skill_name: is_shared,
        })
    };
    skills.iter().flat_map(of_skill).collect()
}

/// A script with the names that it can have.
struct NameClaim<'a> {
    skill: &'a ScriptSet<'a>,
    file: &'a str,
    /// Whether another skill has the same name.
    shares_skill_name: bool,
}

impl NameClaim<'_> {
    /// Returns the name without a hash, if it is unambiguous.
    fn plain_name(&self) -> Option<String> {
        let (skill, stem) = (self.skill.name, flat_stem(self.file));
        let name = format!("{TOOL_NAME_PREFIX}{skill}{SEPARATOR}{stem}");
        (is_plain_part(skill) && is_plain_part(&stem) && name.len() <= MAX_NAME_BYTES)
            .then_some(name)
    }

    /// Returns the name with a hash that is independent of the host.
    fn portable_hashed_name(&self, digits: usize) -> String {
        // Without the directory, so that a tool keeps its name on another machine.
        self.hashed_name(digits, &[self.skill.name.as_bytes(), self.file.as_bytes()])
    }

    fn unique_hashed_name(&self) -> String {
        self.hashed_name(
            HASH_DIGITS,
            &[
                self.skill.directory.as_os_str().as_encoded_bytes(),
                self.skill.name.as_bytes(),
                self.file.as_bytes(),
            ],
        )
    }

    /// Appends a hash. The second `__` distinguishes it from plain names, and each kind of hash has
    /// a different number of parts.
    fn hashed_name(&self, digits: usize, hash_of: &[&[u8]]) -> String {
        let (mut skill, mut stem) = (sanitize(self.skill.name), sanitize(&flat_stem(self.file)));
        // The hash is never truncated. Each part keeps up to half of the remaining space, so that
        // both stay recognizable.
        let available = MAX_NAME_BYTES - TOOL_NAME_PREFIX.len() - 2 * SEPARATOR.len() - digits;
        skill.truncate(available - stem.len().min(available / 2));
        stem.truncate(available - skill.len());
        format!(
            "{TOOL_NAME_PREFIX}{skill}{SEPARATOR}{stem}{SEPARATOR}{}",
            hash_parts(hash_of, digits)
        )
    }

    fn collision(&self, name: &str) -> Option<Collision> {
        let requested_name = if self.shares_skill_name {
            None
        } else {
            Some(self.plain_name().filter(|plain| plain != name)?)
        };
        Some(Collision {
            skill: self.skill.name.to_owned(),
            file: self.file.to_owned(),
            requested_name,
            name: name.to_owned(),
        })
    }
}

impl std::fmt::Display for Collision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            skill,
            file,
            requested_name,
            name,
        } = self;
        write!(
            f,
            "skill `{skill}`: script `{}` is the tool `{name}`: ",
            file.escape_debug()
        )?;
        match requested_name {
            Some(requested_name) => write!(f, "tool name `{requested_name}` is ambiguous"),
            None => write!(f, "skill name `{skill}` is ambiguous"),
        }
    }
}

/// Returns the path without its extension, as one word.
fn flat_stem(file: &str) -> String {
    // `a/b.py` and `a_b.py` of one skill would share the name, and both get a hash then.
    stem(file).replace('/', "_")
}

/// Returns true if a part of a name is used unchanged, because its end is unambiguous.
fn is_plain_part(part: &str) -> bool {
    // With `__` only as a separator, the parts of a name can be told apart.
    let is_inside = !part.contains(SEPARATOR) && part.trim_matches('_') == part;
    is_inside && !part.is_empty() && part.chars().all(is_allowed_char)
}

fn is_allowed_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn sanitize(part: &str) -> String {
    part.chars()
        .map(|c| if is_allowed_char(c) { c } else { '_' })
        .collect()
}

/// Returns the first digits of a SHA-256 of the parts, each preceded by its length.
fn hash_parts(parts: &[&[u8]], digits: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // Without lengths, `ab` + `c` and `a` + `bc` would have the same hash.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut text = hex::encode(hasher.finalize());
    text.truncate(digits);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn skills<'a>(skills: &'a [(&'a str, &'a str, Vec<String>)]) -> Vec<ScriptSet<'a>> {
        skills
            .iter()
            .map(|(directory, name, files)| ScriptSet {
                name,
                directory: Path::new(directory),
                files,
            })
            .collect()
    }

    fn named(given: &[(&str, &[&str])]) -> ToolNames {
        let directories: Vec<String> = (0..given.len()).map(|index| format!("/{index}")).collect();
        let files = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        let given: Vec<_> = given
            .iter()
            .zip(&directories)
            .map(|((name, of), directory)| (directory.as_str(), *name, files(of)))
            .collect();
        assign_names(&skills(&given))
    }

    fn check(given: &[(&str, &[&str])], expected: &[&str]) {
        assert_eq!(named(given).names, expected);
    }

    #[test]
    fn an_unambiguous_name_has_no_hash() {
        check(
            &[("weather", &["get_forecast.py"])],
            &["skill__weather__get_forecast"],
        );
        check(
            &[("tax_calculator", &["calculate_duty.py"])],
            &["skill__tax_calculator__calculate_duty"],
        );
        check(&[("My-Skill", &["A-1.sh"])], &["skill__My-Skill__A-1"]);
        check(
            &[("w", &[&format!("{}.py", "x".repeat(54))])],
            &[&format!("skill__w__{}", "x".repeat(54))],
        );
        assert!(
            named(&[("a", &["b.py", "c.sh"]), ("b", &["b.py"])])
                .collisions
                .is_empty()
        );
    }

    #[test]
    fn ambiguous_names_have_a_hash_of_skill_and_file() {
        insta::assert_snapshot!(
            named(&[
                ("a__b", &["c.py"]),
                ("a", &["b__c.py"]),
                ("a_", &["b.py"]),
                ("_a", &["b.py"]),
                ("d", &["b_.py"]),
                ("w", &["a b.c.sh", "a_b_c.sh", "天.py", "地.py"]),
                ("а", &["x.py"]),
                ("б", &["x.py"]),
                ("weather", &[&format!("{}.py", "x".repeat(80))]),
                (&"s".repeat(128), &["run.py"]),
                (&"t".repeat(128), &[&format!("{}.py", "x".repeat(80))]),
            ]).names.join("\n"),
            @"
            skill__a__b__c__55e017875bd412e8
            skill__a__b__c__4ff4dd1cd94b1206
            skill__a___b__35082356d9de8fce
            skill___a__b__acbda2bf163b8e92
            skill__d__b___1cf88d1e9c95269b
            skill__w__a_b_c__f2e031e031b036d6
            skill__w__a_b_c
            skill__w_____8bf6cebdac2532b2
            skill__w_____e44e081e4648f3b0
            skill_____x__5efb8516b98e412f
            skill_____x__5b8958a5166434b7
            skill__weather__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx__0c11edc71a56c165
            skill__ssssssssssssssssssssssssssssssssss__run__87e63755f6cdaa21
            skill__ttttttttttttttttttt__xxxxxxxxxxxxxxxxxx__7fe634aac1034c30
            ");
    }

    #[test]
    fn scripts_that_would_share_a_name_all_have_a_hash() {
        let found = named(&[("w", &["a.py", "a.sh", "b.py"])]);
        insta::assert_snapshot!(found.names.join("\n"), @"
        skill__w__a__fee743c95d5f417b
        skill__w__a__668b0eb2b1113261
        skill__w__b
        ");
        insta::assert_snapshot!(found.collisions[0], @"skill `w`: script `a.py` is the tool `skill__w__a__fee743c95d5f417b`: tool name `skill__w__a` is ambiguous");
        assert_eq!(found.collisions.len(), 2);
    }

    #[test]
    fn a_script_in_a_subdirectory_is_named_by_its_path() {
        check(
            &[("pdf", &["sub/tool.py", "a/b/c.sh"])],
            &["skill__pdf__sub_tool", "skill__pdf__a_b_c"],
        );
        let found = named(&[("pdf", &["sub/tool.py", "sub_tool.py"])]);
        assert_eq!(found.collisions.len(), 2);
    }

    #[test]
    fn skills_that_share_a_name_are_hashed_with_their_directory() {
        let found = named(&[
            ("w", &["a.py"]),
            ("w", &["a.py", "b__c.py"]),
            ("v", &["a.py"]),
        ]);
        insta::assert_snapshot!(found.names.join("\n"), @"
        skill__w__a__e62d0fcba7298610
        skill__w__a__7716944306f0bd74
        skill__w__b__c__a478b66d0763d269
        skill__v__a
        ");
        insta::assert_snapshot!(found.collisions[0], @"skill `w`: script `a.py` is the tool `skill__w__a__7716944306f0bd74`: skill name `w` is ambiguous");
        let shadowed = named(&[("w", &["a.py"]), ("w", &[])]);
        assert_eq!(shadowed.names, found.names[..1]);
    }

    /// Skills in different directories, many of which have equal names.
    fn catalog(max_skills: usize) -> impl Strategy<Value = Vec<(String, String, Vec<String>)>> {
        let name = prop_oneof!["[ab_]{1,4}", "[aé]{1,2}", "\\PC{1,70}"];
        let file = (
            prop_oneof!["[ab_ .é]{1,4}", "\\PC{0,70}"],
            prop_oneof![Just("py"), Just("sh")],
        );
        let file = file.prop_map(|(stem, ending)| format!("{stem}.{ending}"));
        let files =
            prop::collection::hash_set(file, 0..4).prop_map(|files| files.into_iter().collect());
        prop::collection::hash_map("/[a-z]{1,6}", (name, files), 0..max_skills).prop_map(|skills| {
            skills
                .into_iter()
                .map(|(directory, (name, files))| (directory, name, files))
                .collect()
        })
    }

    fn borrowed(catalog: &[(String, String, Vec<String>)]) -> Vec<(&str, &str, Vec<String>)> {
        catalog
            .iter()
            .map(|(directory, name, files)| (directory.as_str(), name.as_str(), files.clone()))
            .collect()
    }

    /// Returns the owner of each name: directory and file.
    fn owners<'a>(
        catalog: &'a [(&str, &str, Vec<String>)],
        digits: usize,
    ) -> HashMap<String, (&'a str, &'a str)> {
        let scripts = catalog
            .iter()
            .flat_map(|(directory, _, files)| files.iter().map(|file| (*directory, file.as_str())));
        assign_with_digits(&skills(catalog), digits)
            .names
            .into_iter()
            .zip(scripts)
            .collect()
    }

    proptest! {
        #[test]
        fn names_are_unique_short_and_plain(catalog in catalog(8), digits in 1..=HASH_DIGITS) {
            let catalog = borrowed(&catalog);
            let found = assign_with_digits(&skills(&catalog), digits).names;
            prop_assert_eq!(found.len(), catalog.iter().map(|(_, _, files)| files.len()).sum::<usize>());
            prop_assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len(), "{:?}", found);
            for name in &found {
                prop_assert!(name.len() <= MAX_NAME_BYTES && name.starts_with(TOOL_NAME_PREFIX) && name.chars().all(is_allowed_char), "{}", name);
            }
        }

        /// A short hash causes collisions that otherwise take an attacker.
        #[test]
        fn adding_or_removing_a_skill_reassigns_no_name(catalog in catalog(8), added in catalog(3), digits in 1..=HASH_DIGITS) {
            let (before, added) = (borrowed(&catalog), borrowed(&added));
            for skill in added {
                if before.iter().any(|(directory, _, _)| *directory == skill.0) {
                    continue;
                }
                let mut after = before.clone();
                after.insert(0, skill);
                let after = owners(&after, digits);
                for (name, owner) in owners(&before, digits) {
                    prop_assert!(after.get(&name).is_none_or(|now| *now == owner), "{} of {:?} is of {:?}", name, owner, after[&name]);
                }
            }
        }

        #[test]
        fn the_order_of_the_list_does_not_matter(catalog in catalog(8), by in any::<prop::sample::Index>()) {
            let here = borrowed(&catalog);
            let mut there = here.clone();
            if !there.is_empty() {
                there.rotate_left(by.index(here.len()));
                there.reverse();
            }
            prop_assert_eq!(owners(&here, HASH_DIGITS), owners(&there, HASH_DIGITS));
            prop_assert_eq!(assign_names(&skills(&here)).collisions, assign_names(&skills(&there)).collisions);
        }
    }
}
