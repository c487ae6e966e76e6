//! Skills of a source in memory, instead of a directory of installed skills.

use skills_discovery::{DigestCache, MemorySkill, SkillFiles};

use crate::TreePath;
use crate::error::{InstallError, Refusal};
use crate::staged_skill::StagedSkill;

/// Maximum size of all files, in bytes: that of one skill with a digest.
const MAX_BYTES: u64 = 256 << 20;

/// Reads staged skills into memory.
pub(crate) fn read(skills: &[StagedSkill]) -> Result<Vec<MemorySkill>, InstallError> {
    let mut left = MAX_BYTES;
    let skills = skills.iter().map(|skill| read_one(skill, &mut left));
    skills.collect()
}

/// Reads a skill, and subtracts its size from `left`.
fn read_one(staged: &StagedSkill, left: &mut u64) -> Result<MemorySkill, InstallError> {
    let path = staged.source.path();
    let invalid = |source| InstallError::invalid(path.to_string(), source);
    let files = SkillFiles::open_directory(&staged.directory).map_err(invalid)?;
    let content = files.digested_content(&mut DigestCache::default());
    // A skill that is its whole source has no path in it.
    let path = if path.is_root() {
        tree_path(&staged.name)?
    } else {
        path.clone()
    };
    let mut skill = MemorySkill::new(path);
    for file in content.map_err(invalid)?.files {
        if file.is_link {
            return Err(InstallError::refused(file.path, Refusal::LinkInMemory));
        }
        if file.bytes > *left {
            return Err(InstallError::limit("bytes in memory", MAX_BYTES));
        }
        *left -= file.bytes;
        let bytes = files.read(&file.path, file.bytes).map_err(invalid)?;
        let path = tree_path(&file.path)?;
        skill = if file.is_executable {
            skill.executable(path, bytes)
        } else {
            skill.file(path, bytes)
        };
    }
    Ok(skill)
}

fn tree_path(text: &str) -> Result<TreePath, InstallError> {
    TreePath::new(text).map_err(|problem| InstallError::refused(text, problem))
}
