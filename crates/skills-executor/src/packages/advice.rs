//! What a user can do about packages that a skill does not declare.

use std::collections::BTreeSet;

use skills_deps::missing_node_packages;
use skills_packages::{
    ListedPackage, Project, Registry, imported_packages, is_known_module, is_local_module,
    mentioned_packages, package_of_module,
};
use skills_sandbox::ScriptType;

use super::RunPackages;
use super::declared::{
    configured_packages, declared_packages, installed_python, script_of, text_reader,
};
use crate::explain::{DeclaredPackages, MissingPackage};
use crate::plan::Planned;
use crate::run_subject::SkillSubject;
use crate::services::Services;

/// Returns the packages that the text of a skill names or its scripts import, and that it does not
/// find.
pub(crate) fn mentioned_packages_of(
    services: &Services,
    skill: &SkillSubject,
    script: Option<&str>,
) -> Vec<ListedPackage> {
    missing_packages_of(services, skill, script, named_packages(skill))
}

/// Returns the packages that a skill does not find, of these.
fn missing_packages_of(
    services: &Services,
    skill: &SkillSubject,
    script: Option<&str>,
    mut mentioned: Vec<ListedPackage>,
) -> Vec<ListedPackage> {
    let read = text_reader(&skill.files);
    let installed = installed_python(services, skill.entry.name().as_str());
    mentioned.retain(|package| {
        let listed = Project::read(&|_| None, script, std::slice::from_ref(package));
        let lacks_python = listed
            .python
            .is_some_and(|python| !installed.missing(&python.requirements).is_empty());
        let lacks_node = listed
            .node
            .is_some_and(|node| !missing_node_packages(&node, &read).is_empty());
        lacks_python || lacks_node
    });
    mentioned
}

/// Adds to a missing package what the skill declares, and what a user can accept for it.
pub(crate) fn with_package_advice(
    planned: &Planned,
    packages: &RunPackages,
    cause: &mut MissingPackage,
) {
    let services = planned.services();
    let MissingPackage {
        package,
        package_name,
        script_type,
        is_only_reported,
        declared,
        is_installable,
        declaring_script,
        acceptable,
        ..
    } = cause;
    let registry = match script_type {
        ScriptType::Python => Registry::Pypi,
        ScriptType::Node => Registry::Npm,
        _ => return,
    };
    let missing = package_of_module(registry, package);
    *package_name = missing.as_ref().map(|named| named.requirement.clone());
    *is_only_reported = !is_known_module(registry, package);
    let Some(skill) = planned.skill() else {
        return;
    };
    let script = script_of(planned.mode());
    let project = declared_packages(services, skill, script);
    *declared = declared_of_registry(&project, registry);
    *declaring_script = super::declared::declaring_script(planned).map(str::to_owned);
    let Some(missing) = missing else {
        return;
    };
    let is_declared = project.declares(&missing);
    let named = named_packages(skill);
    *is_only_reported &= !is_declared && !named.iter().any(|named| named.name() == missing.name());
    let is_local = registry == Registry::Pypi && is_local_module(&paths_of(skill), package);
    if services.config().packages.is_some() && !is_local {
        let has_problems = declared
            .as_ref()
            .is_some_and(|declared| !declared.problems.is_empty());
        if is_declared {
            *is_installable = packages.environment.is_none();
        } else if !has_problems && !*is_only_reported {
            // Otherwise nothing is installed before the declaration is corrected.
            let mentioned = missing_packages_of(services, skill, script, named);
            *acceptable = acceptable_packages(services, skill, mentioned, missing);
        }
    }
}

/// Returns the packages that `skills.NAME.packages` can list for a skill: those that it lists
/// already, those that its text names or its scripts import, and the missing one.
fn acceptable_packages(
    services: &Services,
    skill: &SkillSubject,
    mentioned: Vec<ListedPackage>,
    missing: ListedPackage,
) -> Vec<String> {
    let mut all = configured_packages(services, skill.entry.name().as_str());
    all.extend(mentioned);
    all.push(missing);
    let mut names = BTreeSet::new();
    let new = all
        .into_iter()
        .filter(|package| names.insert(package.name()));
    new.map(|package| package.to_string()).collect()
}

/// Returns the packages that the text of a skill names or its scripts import, each once.
fn named_packages(skill: &SkillSubject) -> Vec<ListedPackage> {
    let read = text_reader(&skill.files);
    let document = skill.files.document();
    let mut named = document.map_or_else(
        |_| Vec::new(),
        |document| mentioned_packages(document.body()),
    );
    named.extend(imported_packages(&paths_of(skill), &read));
    let mut names = BTreeSet::new();
    named.retain(|package| names.insert(package.name()));
    named
}

/// Returns the paths of the files of a skill.
fn paths_of(skill: &SkillSubject) -> Vec<String> {
    let listing = skill.files.list("").unwrap_or_default();
    let paths = listing.resources.into_iter().map(|resource| resource.path);
    paths.collect()
}

/// Returns what a project declares for one registry, as text.
fn declared_of_registry(project: &Project, registry: Registry) -> Option<DeclaredPackages> {
    let (sources, packages, problems) = match registry {
        Registry::Pypi => {
            let python = project.python.as_ref()?;
            let packages = python.requirements.iter().map(ToString::to_string);
            (&python.sources, packages.collect(), &python.problems)
        }
        Registry::Npm => {
            let node = project.node.as_ref()?;
            let packages = node.dependencies.iter();
            let packages = packages.map(|(name, range)| format!("{name}@{range}"));
            (&node.sources, packages.collect(), &node.problems)
        }
    };
    Some(DeclaredPackages {
        source: sources.first()?.clone(),
        packages,
        problems: problems.clone(),
    })
}
