//! The installation report of pip.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use crate::error::SetupError;
use crate::plan::{Plan, PlannedPackage, host_of};
use skills_packages::Registry;
use skills_packages::normalize_name;

#[derive(Deserialize)]
struct Report {
    install: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    download_info: Download,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Download {
    url: String,
    #[serde(default)]
    archive_info: Archive,
}

#[derive(Deserialize, Default)]
struct Archive {
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

/// Adds the packages of a report to a plan, and the lines with digests from which pip installs
/// them.
pub(crate) fn parse_report(plan: &mut Plan, text: &str) -> Result<(), SetupError> {
    let report: Report = serde_json::from_str(text)
        .map_err(|error| SetupError::unreadable("the report of pip", error))?;
    let mut lines = String::new();
    for item in report.install {
        let Download { url, archive_info } = item.download_info;
        let Metadata { name, version } = item.metadata;
        let Some(sha256) = archive_info.hashes.get("sha256") else {
            return Err(SetupError::unreadable(
                "the report of pip",
                format!("`{name}` has no digest"),
            ));
        };
        let name = normalize_name(&name);
        let _ = writeln!(lines, "{name}=={version} --hash=sha256:{sha256}");
        plan.packages.push(PlannedPackage {
            registry: Registry::Pypi,
            name,
            version,
            host: host_of(&url).unwrap_or_default(),
            size: None,
            is_declared: false,
            is_built: !url
                .split(['#', '?'])
                .next()
                .unwrap_or_default()
                .ends_with(".whl"),
            sha256: [sha256.clone()].into(),
        });
    }
    plan.python_lock = Some(lines);
    Ok(())
}
