//! What a user can do about packages that a skill does not declare.

use std::collections::BTreeSet;

use skills_deps::missing_node_packages;
use skills_discovery::SkillFiles;
use skills_packages::{
    ImportedPackage, ListedPackage, Project, Registry, imported_package, imported_packages,
    is_known_module, mentioned_packages, package_of_module,
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

/// Adds to a missing package what the skill declares, and the rule that allows it. Returns the package if
/// the rule is for it.
pub(crate) fn with_package_advice(
    planned: &Planned,
    packages: &RunPackages,
    cause: &mut MissingPackage,
) -> Option<ImportedPackage> {
    let services = planned.services();
    let MissingPackage {
        package,
        package_name,
        script_type,
        is_only_reported,
        declared,
        is_installable,
        declaring_script,
        is_started_by_script,
        allowing_rule,
        acceptable,
        ..
    } = cause;
    let registry = match script_type {
        ScriptType::Python => Registry::Pypi,
        ScriptType::Node => Registry::Npm,
        _ => return None,
    };
    let missing = package_of_module(registry, package);
    *package_name = missing.as_ref().map(|named| named.requirement.clone());
    *is_only_reported = !is_known_module(registry, package);
    let skill = planned.skill()?;
    let script = script_of(planned.mode());
    let project = declared_packages(services, skill, script);
    *declared = declared_of_registry(&project, registry);
    *declaring_script = super::declared::declaring_script(planned).map(str::to_owned);
    let missing = missing?;
    let is_declared = project.declares(&missing);
    let named = named_packages(skill);
    *is_only_reported &= !is_declared && !named.iter().any(|named| named.name() == missing.name());
    services.config().packages.as_ref()?;
    if is_declared {
        *is_installable = packages.environment.is_none();
        return None;
    }
    // Otherwise nothing is installed before the declaration is corrected.
    let has_problems = declared
        .as_ref()
        .is_some_and(|declared| !declared.problems.is_empty());
    if has_problems || *is_started_by_script {
        return None;
    }
    let read = text_reader(&skill.files);
    let imported = (registry == Registry::Pypi)
        .then(|| imported_package(&paths_of(&skill.files), &read, package))
        .flatten()
        .filter(|imported| !project.declares(&imported.package));
    let Some(imported) = imported else {
        // Such as a package for Node, or one that only the instructions name.
        if !*is_only_reported {
            *acceptable = acceptable_packages(services, skill, missing);
        }
        return None;
    };
    *package_name = Some(imported.package.requirement.clone());
    // A rule accepts it already.
    let mut rejected = packages.rejected.iter();
    if rejected.any(|rejected| rejected.contains(&imported.package)) {
        return None;
    }
    *allowing_rule = Some(format!("packages:{}", imported.package.name()));
    Some(imported)
}

/// Returns the module that a Python file of the skill imports, if a program reports that it lacks it.
pub(crate) fn imported_module(planned: &Planned, reported: &str) -> Option<String> {
    let skill = planned.skill()?;
    let imported = imported_package(
        &paths_of(&skill.files),
        &text_reader(&skill.files),
        reported,
    )?;
    Some(imported.module)
}

/// Returns the packages that `skills.NAME.packages` lists already, and the missing one.
fn acceptable_packages(
    services: &Services,
    skill: &SkillSubject,
    missing: ListedPackage,
) -> Vec<String> {
    let mut all = configured_packages(services, skill.entry.name().as_str());
    if all.iter().all(|known| known.name() != missing.name()) {
        all.push(missing);
    }
    all.iter().map(ToString::to_string).collect()
}

/// Returns the packages that the text of a skill names or its scripts import, each once.
fn named_packages(skill: &SkillSubject) -> Vec<ListedPackage> {
    let read = text_reader(&skill.files);
    let document = skill.files.document();
    let mut named = document.map_or_else(
        |_| Vec::new(),
        |document| mentioned_packages(document.body()),
    );
    named.extend(imported_packages(&paths_of(&skill.files), &read));
    let mut names = BTreeSet::new();
    named.retain(|package| names.insert(package.name()));
    named
}

/// Returns the paths of the files of a skill.
pub(super) fn paths_of(files: &SkillFiles) -> Vec<String> {
    let listing = files.list("").unwrap_or_default();
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
