//! Running scripts of skills from Rust.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use skills_runtime::SkillRuntime;

use super::engine::{DEFAULT_TIMEOUT, ScriptArguments};
use super::{Programs, Sessions};
use crate::file_tools::FileTools;
use crate::mount::MountTable;
use crate::overrides::Overrides;
use crate::{CallContext, NewScripts, ScriptResult, ToolError};

/// Runs scripts of skills from Rust, as the tool `run_skill_script` does.
///
/// Defaults: ten seconds for each script, whom the runtime asks.
///
/// ```
/// # use skills_runtime::{Root, Scope, SkillRuntime};
/// # use skills_tools::ScriptExecutor;
/// # async fn example(skills: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = SkillRuntime::builder().root(Root::new(skills, Scope::Custom)).build();
/// let executor = ScriptExecutor::new(runtime);
/// let args = serde_json::json!({"cif_price": 10000, "hs_code": "85423100"});
/// let taxes = executor.execute("tax_calculator", "calculate_duty.py", args).await?;
/// assert_eq!(taxes.result.ok_or("no JSON")?["vat"], 1300.0);
/// # Ok(())
/// # }
/// ```
pub struct ScriptExecutor {
    programs: Arc<Programs>,
    timeout: Duration,
    context: CallContext,
}

impl ScriptExecutor {
    /// Runs the scripts that this runtime finds. What administrators changed about the tools of a
    /// host is not known here: see [`ToolSet::executor`](crate::ToolSet::executor).
    #[must_use]
    pub fn new(runtime: SkillRuntime) -> Self {
        let files = Arc::new(FileTools::new(runtime.clone(), MountTable::default()));
        let programs = Programs {
            runtime,
            files,
            overrides: Arc::new(Overrides::in_memory()),
            new_scripts: NewScripts::default(),
            sessions: Sessions::default(),
        };
        Self::sharing(Arc::new(programs))
    }

    pub(crate) fn sharing(programs: Arc<Programs>) -> Self {
        Self {
            programs,
            timeout: Duration::from_secs(DEFAULT_TIMEOUT),
            context: CallContext::default(),
        }
    }

    /// Sets the deadline of each script.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Chooses who is asked, and what may stop a script.
    #[must_use]
    pub fn context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }

    /// Runs a script of a skill, named with or without its ending. `args` is one JSON object, or
    /// null for none.
    ///
    /// A script that fails or is stopped is a [`ScriptResult`] like any other.
    ///
    /// # Errors
    /// When nothing ran: `args` is no object, there is no such skill or script, the policy denies
    /// it, there is no sandbox.
    pub async fn execute(
        &self,
        skill: &str,
        script: &str,
        args: Value,
    ) -> Result<ScriptResult, ToolError> {
        let args = match args {
            Value::Object(args) => args,
            Value::Null => Map::new(),
            _ => {
                return Err(ToolError::new(
                    crate::Code::InvalidArguments,
                    "the arguments of a script are one JSON object",
                ));
            }
        };
        let looks = Arc::clone(&self.programs.files.looks);
        // The disk is looked at aside; when that fails, so does what follows, with its reason.
        let _ = tokio::task::spawn_blocking(move || looks.catalog()).await;
        let arguments = ScriptArguments {
            skill_name: skill.to_owned(),
            script_name: script.to_owned(),
            args,
            timeout: None,
            stdin: None,
        };
        self.programs
            .engine(arguments, self.timeout, &self.context)
            .await
    }
}
