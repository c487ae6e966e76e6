//! How the host application describes what would change the result of a call.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use skills_runtime::policy::Denial;
use skills_runtime::{ExecutionArtifacts, ExplanationWords, Remedy};

/// The function of the host application that says what to do.
type Describe = Arc<dyn Fn(&Remedy) -> Option<String> + Send + Sync>;

/// The beginning of a hint for a model about something that its user has to do.
const ASK_USER: &str = "ask your user to ";

/// Returns a remedy as a request to the user. A host application that a model cannot restart words
/// its remedies as such.
pub(crate) fn request_to_user(remedy: &str) -> Cow<'_, str> {
    match remedy.starts_with(ASK_USER) {
        true => remedy.into(),
        false => format!("{ASK_USER}{remedy}").into(),
    }
}

/// How the host application describes remedies; by default, not at all.
#[derive(Clone, Default)]
pub(crate) struct Remedies(Option<Describe>);

impl fmt::Debug for Remedies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remedies").field(&self.0.is_some()).finish()
    }
}

impl Remedies {
    pub(crate) fn new(
        describe: impl Fn(&Remedy) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(describe)))
    }

    /// Returns true if the host application describes remedies.
    pub(crate) fn is_described(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn describe(&self, remedy: &Remedy) -> Option<String> {
        self.0.as_ref()?(remedy)
    }

    /// Explains a run.
    pub(crate) fn explain(&self, artifacts: &ExecutionArtifacts) -> ExplanationWords {
        // The timeout of a call is one of its arguments.
        let is_argument = |remedy: &Remedy| matches!(remedy, Remedy::Timeout { .. });
        artifacts
            .explanation
            .words(|remedy| self.describe(remedy).filter(|_| !is_argument(remedy)))
    }

    /// Describes what would allow a denied run; `None` if no rule would.
    pub(crate) fn for_denial(&self, denial: &Denial) -> Option<String> {
        self.describe(&Remedy::for_denial(denial)?)
    }
}
