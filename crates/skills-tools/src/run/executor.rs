//! Running scripts of skills from Rust.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use skills_runtime::SkillRuntime;

use super::run_skill_script::{DEFAULT_TIMEOUT, ScriptArguments};
use super::{ProgramTools, SessionDirectories};
use crate::file_tools::FileTools;
use crate::mount::MountTable;
use crate::overrides::OverrideStore;
use crate::{CallContext, DefaultScriptState, ScriptResult, ToolError};

/// Runs scripts of skills from Rust, with the semantics of the tool `run_skill_script`.
///
/// Each call finds the skill in the current catalog, so changes on disk take effect without a
/// restart. Permissions are decided by the policy of the runtime, and approval requests go to its
/// approver unless a [`context`](Self::context) names another one. The default timeout is ten
/// seconds per script.
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
    programs: Arc<ProgramTools>,
    timeout: Duration,
    context: CallContext,
}

impl ScriptExecutor {
    /// Creates an executor for the skills of a runtime. Overrides of a tool set do not apply: for
    /// those, use [`ToolSet::executor`](crate::ToolSet::executor).
    #[must_use]
    pub fn new(runtime: SkillRuntime) -> Self {
        // Without mounts: scripts get a workspace of their own.
        let files = Arc::new(FileTools::new(runtime.clone(), MountTable::default()));
        let programs = ProgramTools {
            runtime,
            files,
            overrides: Arc::new(OverrideStore::in_memory()),
            default_script_state: DefaultScriptState::default(),
            sessions: SessionDirectories::default(),
        };
        Self::with_programs(Arc::new(programs))
    }

    pub(crate) fn with_programs(programs: Arc<ProgramTools>) -> Self {
        Self {
            programs,
            timeout: Duration::from_secs(DEFAULT_TIMEOUT),
            context: CallContext::default(),
        }
    }

    /// Sets the timeout of each script, ten seconds by default. The ceiling of the policy may be
    /// lower. The time for finding and preparing the script counts, too.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the approver, session and cancellation of all calls, replacing an earlier context. By
    /// default, each call is a session of its own.
    #[must_use]
    pub fn context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }

    /// Runs a script of a skill, named with or without extension. `args` is a JSON object, or null
    /// for an empty one. Dropping the future stops the script.
    ///
    /// A script that fails, times out or is cancelled returns a [`ScriptResult`] with `success:
    /// false`.
    ///
    /// # Errors
    /// If the script did not run: `args` is not an object, the skill or script does not exist,
    /// policy denies the run, or no sandbox is available. The code of the error says which.
    ///
    /// ```
    /// use serde_json::Value;
    /// use skills_tools::runtime::SkillRuntime;
    /// use skills_tools::{ScriptExecutor, ToolErrorCode};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let executor = ScriptExecutor::new(SkillRuntime::builder().build());
    /// let error = executor.execute("greet", "hello", Value::Null).await.unwrap_err();
    /// assert_eq!(error.code, ToolErrorCode::SkillNotFound);
    /// # Ok(())
    /// # }
    /// ```
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
                    crate::ToolErrorCode::InvalidArguments,
                    "invalid `args`: expected a JSON object",
                ));
            }
        };
        let runtime = self.programs.runtime.clone();
        // Scans on a blocking thread. If the task panics, the lookup below fails with the reason.
        let _ = tokio::task::spawn_blocking(move || runtime.library().current_catalog()).await;
        let arguments = ScriptArguments {
            skill_name: skill.to_owned(),
            script_name: script.to_owned(),
            args,
            timeout: None,
            stdin: None,
        };
        self.programs
            .execute_script(arguments, self.timeout, &self.context)
            .await
    }
}
