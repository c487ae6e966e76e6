//! Tools that change the lists of the real server: each call creates one more skill on disk, which
//! the server must notice.
#![expect(
    clippy::disallowed_methods,
    reason = "a host application can put skills anywhere"
)]

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde_json::json;

use crate::content::tool;

/// The directory of the skills, and their number.
pub(crate) struct SkillGenerator {
    directory: PathBuf,
    created: AtomicU32,
}

pub(crate) fn tools() -> Vec<Tool> {
    let tools = [
        ("test_trigger_tool_change", "Changes the tools"),
        ("test_trigger_prompt_change", "Changes the prompts"),
    ];
    tools
        .map(|(name, description)| tool(name, description, json!({})))
        .into()
}

pub(crate) fn call(name: &str, skills: &SkillGenerator) -> Option<CallToolResult> {
    let is_one = tools().iter().any(|tool| tool.name == name);
    let text = |text: String| vec![ContentBlock::text(text)];
    is_one.then(|| match skills.create() {
        Ok(skill) => CallToolResult::success(text(format!("There is a new skill: {skill}"))),
        Err(error) => CallToolResult::error(text(error.to_string())),
    })
}

impl SkillGenerator {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            created: AtomicU32::new(0),
        }
    }

    /// Creates a skill with a script, which changes prompts and tools.
    fn create(&self) -> io::Result<String> {
        let name = format!("created-{}", self.created.fetch_add(1, Ordering::Relaxed));
        let skill = self.directory.join(&name);
        fs::create_dir_all(skill.join("scripts"))?;
        fs::write(
            skill.join("scripts/hello.sh"),
            "# Description: Says hello.\necho hello\n",
        )?;
        fs::write(
            skill.join("SKILL.md"),
            format!(
                "---\nname: {name}\ndescription: Created while the suite was running.\n---\nSay hello.\n"
            ),
        )?;
        Ok(name)
    }
}
