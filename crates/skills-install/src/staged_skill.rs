//! Skills in a staging directory, and their checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use skills_discovery::{ContentDigest, DigestCache, SkillFiles, fold_case, is_installable_name};
use skills_manifest::SkillName;

use crate::capabilities::{Capabilities, ToolWords};
use crate::error::{InstallError, Repr};
use crate::origin::tree::Origin;
use crate::signature::UNSIGNED;
use crate::staged_tree::StagedTree;
use crate::{SourceSpec, TreePath, skill_tree};

/// A skill in a staging directory, completely checked.
#[derive(Debug)]
pub(crate) struct StagedSkill {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) source: SourceSpec,
    pub(crate) revision: Option<String>,
    pub(crate) committed: Option<i64>,
    pub(crate) is_tag: bool,
    pub(crate) content: ContentDigest,
    pub(crate) capabilities: Capabilities,
    pub(crate) signer: String,
}

/// A staged skill that is not checked yet, with what its source says about it.
pub(crate) struct Unchecked {
    path: TreePath,
    directory: PathBuf,
    revision: Option<String>,
    committed: Option<i64>,
    is_tag: bool,
    is_name_fixed: bool,
}

impl Unchecked {
    pub(crate) fn new(path: TreePath, origin: &dyn Origin, tree: &StagedTree) -> Self {
        Self {
            directory: if path.is_root() {
                tree.path().to_owned()
            } else {
                tree.path().join(path.as_str())
            },
            revision: origin.revision(&path),
            committed: origin.committed(),
            is_tag: origin.is_tag(),
            is_name_fixed: origin.fixes_names(),
            path,
        }
    }

    /// Checks the skill: it must parse, have a usable name, and a content digest.
    pub(crate) fn check(
        &self,
        spec: &SourceSpec,
        words: ToolWords<'_>,
    ) -> Result<StagedSkill, InstallError> {
        let invalid = |source| InstallError::invalid(self.path.to_string(), source);
        let files = SkillFiles::open_directory(&self.directory).map_err(invalid)?;
        let document = files.document().map_err(invalid)?;
        let name = document.manifest().name().map(SkillName::as_str);
        let directory_name = self.path.file_name().unwrap_or_default().to_owned();
        let name = name.unwrap_or(&directory_name).to_owned();
        if self.is_name_fixed && name != directory_name {
            let listed = directory_name;
            return Err(Repr::OtherName { listed, name }.into());
        }
        // It becomes the name of a directory.
        match TreePath::new(&name) {
            Ok(valid) if valid.names().count() == 1 && is_installable_name(&name) => {}
            _ => return Err(Repr::Name { name }.into()),
        }
        let content = files.digested_content(&mut DigestCache::default());
        let content = content.map_err(invalid)?;
        let facts = skill_tree::of_content(&content);
        let capabilities = Capabilities::of_files(&document, &files, facts, words);
        Ok(StagedSkill {
            name,
            directory: self.directory.clone(),
            source: spec.clone().with_path(self.path.clone()),
            revision: self.revision.clone(),
            committed: self.committed,
            is_tag: self.is_tag,
            content: content.digest,
            capabilities,
            signer: UNSIGNED.to_owned(),
        })
    }
}

/// Rejects skills whose names would be those of one directory.
pub(crate) fn check_names(staged: &[StagedSkill]) -> Result<(), InstallError> {
    let mut paths: BTreeMap<String, &StagedSkill> = BTreeMap::new();
    for skill in staged {
        if let Some(other) = paths.insert(fold_case(&skill.name), skill) {
            let paths = [other, skill].map(|skill| skill.source.path().to_string());
            return Err(InstallError::same_name(&skill.name, paths.into()));
        }
    }
    Ok(())
}
