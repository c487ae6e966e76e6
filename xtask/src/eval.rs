//! Measures how well requests find their skills.

use std::ffi::OsString;
use std::path::{Path, absolute};

use anyhow::{Result, ensure};

use crate::command::cargo;

/// Runs the example `eval` of `skills-search`, optimized, since it measures times as well.
pub(crate) fn eval(directory: &Path, requests: &Path, options: &[OsString]) -> Result<()> {
    let mut command = cargo(&[
        "run",
        "--quiet",
        "--locked",
        "--profile=bench",
        "--package=skills-search",
        "--example=eval",
        "--",
    ]);
    command.arg(absolute(directory)?).arg(absolute(requests)?);
    let status = command.args(options).status()?;
    ensure!(status.success(), "eval ended with {status}");
    Ok(())
}
