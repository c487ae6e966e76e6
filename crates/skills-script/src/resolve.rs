//! Where the arguments of a script come from: its declaration, else its text.

use skills_manifest::ScriptSpec;

use crate::argument::ArgumentSpec;
use crate::{ScriptWarning, declared, infer};

/// Determines the arguments from the `scripts` block of the skill, else from the text of the
/// script.
pub(crate) fn resolve_arguments(
    spec: Option<&ScriptSpec>,
    source: &str,
    file: &str,
) -> (ArgumentSpec, Vec<ScriptWarning>) {
    let mut warnings = Vec::new();
    let arguments = match spec.and_then(|spec| spec.args.as_deref()) {
        Some(args) => ArgumentSpec::declared(declared::parse_declared(args, &mut warnings)),
        None => infer::infer_arguments(source, file, &mut warnings),
    };
    (arguments, warnings)
}
