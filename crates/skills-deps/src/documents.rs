//! The documents of package managers that list packages.

mod npm;
mod pip;
mod uv;

use crate::error::SetupError;
use crate::plan::Plan;

pub(crate) use npm::{locked_packages as locked_npm_packages, parse_lock as parse_npm_lock};
pub(crate) use pip::parse_report as parse_pip_report;
pub(crate) use uv::parse_lock as parse_uv_lock;

/// Parses a text as each document that a package manager writes, for tests with arbitrary texts.
#[doc(hidden)]
pub fn parse_documents(text: &str) {
    type Parser = fn(&mut Plan, &str) -> Result<(), SetupError>;
    let parsers: [Parser; 3] = [
        |plan, text| parse_npm_lock(plan, text, "https://registry.npmjs.org"),
        parse_pip_report,
        parse_uv_lock,
    ];
    for parse in parsers {
        let mut plan = Plan::empty();
        // Either result is one that a package manager may cause.
        if parse(&mut plan, text).is_err() {
            continue;
        }
        if let Some(lock) = &plan.node_lock {
            // npm gets the packages of the plan, as it is made again from the lock file.
            let mut again = Plan::empty();
            let parsed = parse_npm_lock(&mut again, lock, "https://registry.npmjs.org");
            debug_assert!(parsed.is_ok() && again == plan, "{lock}");
        }
    }
}
