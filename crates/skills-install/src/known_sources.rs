//! Sources and signers that a user agreed to, remembered after a skill was removed.

use serde::{Deserialize, Serialize};
use skills_signature::is_same_signer;

use crate::LockedSkill;
use crate::TrustChange;
use crate::error::{InstallError, Repr};
use crate::signature::UNSIGNED;

/// Version of the text; a newer one is not replaced.
const VERSION: u32 = 1;
/// Maximum number of names. Of more, those that were installed last are kept.
const MAX_NAMES: usize = 10_000;
/// Maximum number of sources of one name.
const MAX_SOURCES: usize = 16;

/// From where skills of each name were installed before, and who signed them.
///
/// A lock file says it for the skills that are installed. This memory of one user is for those that no
/// lock file lists any more: a skill of the same name from another source is a
/// [`TrustChange`](crate::TrustChange). A name can have several sources, for example in different
/// projects.
///
/// ```
/// use skills_install::KnownSources;
///
/// let mut known = KnownSources::default();
/// known.remember("pdf", "git:github.com/acme/skills", "unsigned");
/// let text = known.render()?;
/// assert_eq!(KnownSources::parse(&text, "sources.json")?, known);
/// # Ok::<(), skills_install::InstallError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSources {
    /// The name that was installed last is the last one.
    skills: Vec<KnownSkill>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownSkill {
    name: String,
    /// The one that was installed last is the last one.
    sources: Vec<KnownSource>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownSource {
    /// The identity of a source.
    source: String,
    /// The signer of the last version.
    signer: String,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    #[serde(default)]
    skills: Vec<KnownSkill>,
}

impl KnownSources {
    /// Parses text of [`render`](Self::render). `path` is for errors only.
    ///
    /// # Errors
    /// Fails if the text is not valid, or of a newer version.
    pub fn parse(text: &str, path: &str) -> Result<Self, InstallError> {
        let failed = |problem: String| Repr::KnownSources {
            path: path.to_owned(),
            problem,
        };
        let content: Content =
            serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
        if content.version > VERSION {
            let problem = format!("version {} is newer than this program", content.version);
            return Err(failed(problem).into());
        }
        Ok(Self {
            skills: content.skills,
        })
    }

    /// Returns the content as JSON.
    ///
    /// # Errors
    /// Fails if a value cannot be written as JSON.
    pub fn render(&self) -> Result<String, InstallError> {
        let content = Content {
            version: VERSION,
            skills: self.skills.clone(),
        };
        serde_json::to_string_pretty(&content).map_err(|error| {
            let (path, problem) = (String::new(), error.to_string());
            Repr::KnownSources { path, problem }.into()
        })
    }

    /// Returns true if a skill of this name was installed before.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.skills.iter().any(|skill| skill.name == name)
    }

    /// Returns true if the last version of a skill from a source, given by its identity, was signed.
    pub(crate) fn has_signer(&self, source: &str) -> bool {
        let mut known = self.skills.iter().flat_map(|skill| &skill.sources);
        known.any(|known| known.source == source && known.signer != UNSIGNED)
    }

    /// Adds a source, by its identity, with the signer of its last version. At most 10,000 names with
    /// 16 sources each are kept: those that were added last.
    pub fn remember(&mut self, name: &str, source: &str, signer: &str) {
        let index = self.skills.iter().position(|skill| skill.name == name);
        let mut skill = match index {
            Some(index) => self.skills.remove(index),
            None => KnownSkill {
                name: name.to_owned(),
                sources: Vec::new(),
            },
        };
        skill.sources.retain(|known| known.source != source);
        skill.sources.push(KnownSource {
            source: source.to_owned(),
            signer: signer.to_owned(),
        });
        keep_last(&mut skill.sources, MAX_SOURCES);
        self.skills.push(skill);
        keep_last(&mut self.skills, MAX_NAMES);
    }

    /// Returns what differs between a new skill and the one of its name that was installed last.
    pub(crate) fn trust_changes(&self, new: &LockedSkill, source: String) -> Vec<TrustChange> {
        let known = self.skills.iter().find(|skill| skill.name == new.name);
        let Some((sources, last)) = known.and_then(|known| {
            let sources = &known.sources;
            Some((sources, sources.last()?))
        }) else {
            return Vec::new();
        };
        match sources.iter().find(|known| known.source == source) {
            None => vec![TrustChange::Source {
                from: last.source.clone(),
                to: source,
            }],
            Some(same) if !is_same_signer(&same.signer, &new.signer) => {
                vec![TrustChange::Signer {
                    from: same.signer.clone(),
                    to: new.signer.clone(),
                }]
            }
            Some(_) => Vec::new(),
        }
    }
}

fn keep_last<T>(list: &mut Vec<T>, max: usize) {
    let extra = list.len().saturating_sub(max);
    list.drain(..extra);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_last_is_kept() {
        let mut known = KnownSources::default();
        for number in 0..20 {
            known.remember("a", &format!("dir:/{number}"), "unsigned");
        }
        known.remember("a", "dir:/10", "minisign:RWQ");
        let sources = &known.skills[0].sources;
        assert_eq!(sources.len(), MAX_SOURCES);
        assert_eq!(sources[0].source, "dir:/4");
        assert_eq!(sources[15].signer, "minisign:RWQ");
        for number in 0..MAX_NAMES {
            known.remember(&number.to_string(), "dir:/x", "unsigned");
        }
        assert_eq!(known.skills.len(), MAX_NAMES);
        assert!(!known.contains("a") && known.contains("0"));
    }

    #[test]
    fn other_texts_are_errors() {
        let error = |text: &str| {
            let error = KnownSources::parse(text, "sources.json").unwrap_err();
            error.to_string()
        };
        insta::assert_snapshot!(error(r#"{"version": 2, "more": 1}"#), @"cannot read the remembered sources in `sources.json`: version 2 is newer than this program");
        insta::assert_snapshot!(error("["), @"cannot read the remembered sources in `sources.json`: EOF while parsing a list at line 1 column 1");
    }
}
