//! Files whose content cannot be reviewed.

use crate::finding::{Finding, Severity};
use crate::rule::OPAQUE_FILE;

/// Extensions of code that is compiled or packed.
const EXTENSIONS: &[&str] = &[
    "pyc", "pyo", "pyd", "exe", "dll", "so", "dylib", "scr", "msi", "jar", "apk", "dmg", "pkg",
    "deb", "rpm", "lnk", "scpt", "node", "docm", "xlsm", "pptm",
];

/// Returns the finding about a file with compiled or packed code.
pub(crate) fn finding(path: &str) -> Option<Finding> {
    let (_, extension) = path.rsplit_once('.')?;
    let is_opaque = EXTENSIONS
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known));
    is_opaque.then(|| Finding::new(&OPAQUE_FILE, Severity::Medium, path, 1, path))
}
