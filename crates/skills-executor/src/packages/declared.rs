//! What a skill declares and the host does not have.

use skills_deps::{Environment, EnvironmentKey, InstalledPython, KeyInput, missing_node_packages};
use skills_discovery::SkillFiles;
use skills_library::{find_tool, has_program, nested_scripts, scripts};
use skills_manifest::{RequiredPackage, Requirements};
use skills_packages::{ListedPackage, MAX_FILE_BYTES, Project};
use skills_policy::Request;
use skills_sandbox::ScriptType;

use super::config::PackageConfig;
use crate::execution_mode::ExecutionMode;
use crate::plan::Planned;
use crate::run_subject::SkillSubject;
use crate::services::Services;

/// Declared packages that are missing, with what is needed to install them.
pub(crate) struct MissingPackages {
    /// The declarations of the ecosystems in which something is missing.
    pub(crate) project: Project,
    pub(crate) key: EnvironmentKey,
    /// The missing packages, as declared.
    pub(crate) names: Vec<String>,
    /// The same, as permissions name them.
    permissions: Vec<String>,
}

impl MissingPackages {
    /// Requests the packages without versions, to find out whether they can be allowed.
    pub(super) fn request(&self, request: Request) -> Request {
        let names = self.permissions.iter();
        names.fold(request, |request, name| request.package(name, ""))
    }
}

/// A run of a program that can declare packages.
pub(crate) struct DeclaringRun<'a> {
    pub(crate) planned: &'a Planned,
    pub(crate) config: &'a PackageConfig,
}

/// Returns the script that a run starts; `None` for a command, which can start any.
pub(crate) fn script_of(mode: &ExecutionMode) -> Option<&str> {
    match mode {
        ExecutionMode::Native { script_path, .. } => Some(script_path),
        _ => None,
    }
}

/// Returns a function that reads a text file of the skill.
pub(super) fn text_reader(files: &SkillFiles) -> impl Fn(&str) -> Option<String> {
    |path| files.read_text(path, MAX_FILE_BYTES)
}

impl<'a> DeclaringRun<'a> {
    /// Returns a run of a program that can declare packages; `None` if none are configured.
    pub(crate) fn new(planned: &'a Planned) -> Option<Self> {
        let config = planned.services().config().packages.as_ref()?;
        Some(Self { planned, config })
    }

    /// Returns the Python packages that the run has. Those of an image are none before it was asked.
    pub(super) fn python(&self) -> InstalledPython {
        match self.planned.image() {
            Some(image) => self.config.store.python_of_image(image).unwrap_or_default(),
            None => installed_python(self.planned.services(), self.planned.name()),
        }
    }

    /// Returns the missing packages of a run; `None` if there are none.
    pub(crate) fn missing(&self) -> Option<MissingPackages> {
        if matches!(self.planned.mode(), ExecutionMode::Wasm { .. }) {
            return None;
        }
        self.missing_of_script(script_of(self.planned.mode()))
    }

    /// Returns the environment that has the missing packages of a run: its own, or the one of all
    /// scripts of the skill.
    pub(crate) fn installed(&self, missing: &MissingPackages) -> Option<Environment> {
        let store = &self.config.store;
        store.get(&missing.key).or_else(|| {
            script_of(self.planned.mode())?;
            let of_skill = self.missing_of_script(None)?;
            let is_part = missing.project.is_part_of(&of_skill.project);
            is_part.then(|| store.get(&of_skill.key))?
        })
    }

    /// Returns the scripts that declare other packages than their skill, which are missing.
    pub(crate) fn incomplete_scripts(&self) -> Vec<String> {
        let Some(skill) = self.planned.skill() else {
            return Vec::new();
        };
        let lacks_packages = |script: &String| {
            let missing = declares_own(self.planned.services(), skill, script)
                .then(|| self.missing_of_script(Some(script)))
                .flatten();
            missing.is_some_and(|missing| self.config.store.get(&missing.key).is_none())
        };
        let all = scripts(&skill.files)
            .into_iter()
            .chain(nested_scripts(&skill.files));
        all.filter(lacks_packages).collect()
    }

    /// Returns what decides an environment apart from the declarations: indexes, and the programs that
    /// install and use it.
    fn key_input(&self, project: &Project) -> KeyInput {
        let (planned, config) = (self.planned, self.config);
        let finder = planned.services().finder(planned.name());
        let with_programs = |input: KeyInput, script_type, tool: &str| match planned.image() {
            Some(image) => input.value(image),
            None => input
                .program(planned.interpreter(script_type).as_deref())
                .program(find_tool(&finder, tool).as_deref()),
        };
        let mut input = KeyInput::default().value(config.allows_builds);
        if project.python.is_some() {
            let indexed = input.value(&config.python_index);
            input = with_programs(indexed, ScriptType::Python, "uv");
        }
        if project.node.is_some() {
            let indexed = input.value(&config.npm_registry);
            input = with_programs(indexed, ScriptType::Node, "npm");
        }
        input
    }

    /// Returns the missing packages of a script, or of any command of the skill.
    fn missing_of_script(&self, script: Option<&str>) -> Option<MissingPackages> {
        let skill = self.planned.skill()?;
        self.missing_of(declared_packages(self.planned.services(), skill, script))
    }

    /// Returns the missing packages of a project; `None` if there are none.
    pub(super) fn missing_of(&self, mut project: Project) -> Option<MissingPackages> {
        let skill = self.planned.skill()?;
        if project.is_empty() {
            return None;
        }
        let read = text_reader(&skill.files);
        let (mut names, mut permissions) = (Vec::new(), Vec::new());
        if let Some(declared) = &project.python {
            let installed = self.python();
            let missing = installed.missing(&declared.requirements);
            names.extend(missing.iter().map(ToString::to_string));
            permissions.extend(
                missing
                    .iter()
                    .map(|missing| format!("pypi:{}", missing.name())),
            );
            if missing.is_empty() {
                project.python = None;
            }
        }
        if let Some(declared) = &project.node {
            let missing = missing_node_packages(declared, &read);
            let is_missing =
                |(name, range): &(&String, &String)| missing.contains(&format!("{name}@{range}"));
            let declared = declared.dependencies.iter().filter(is_missing);
            permissions.extend(declared.map(|(name, _)| format!("npm:{name}")));
            if missing.is_empty() {
                project.node = None;
            }
            names.extend(missing);
        }
        if names.is_empty() {
            return None;
        }
        let input = self.key_input(&project);
        Some(MissingPackages {
            key: EnvironmentKey::new(&project, &input),
            project,
            names,
            permissions,
        })
    }
}

/// Returns the script of a run, if it declares other packages than its skill, so that they are
/// installed for this script alone.
pub(super) fn declaring_script(planned: &Planned) -> Option<&str> {
    let script = script_of(planned.mode())?;
    declares_own(planned.services(), planned.skill()?, script).then_some(script)
}

fn declares_own(services: &Services, skill: &SkillSubject, script: &str) -> bool {
    let of_script = declared_packages(services, skill, Some(script));
    !of_script.is_part_of(&declared_packages(services, skill, None))
}

/// Returns what a skill declares for a script, or for any command, with what the configuration
/// adds.
pub(crate) fn declared_packages(
    services: &Services,
    skill: &SkillSubject,
    script: Option<&str>,
) -> Project {
    declared_packages_with(services, skill, script, &[])
}

/// Returns what a skill declares for a script, and `others`.
pub(super) fn declared_packages_with(
    services: &Services,
    skill: &SkillSubject,
    script: Option<&str>,
    others: &[ListedPackage],
) -> Project {
    let name = skill.entry.name().as_str();
    let mut listed = listed_packages(services, name, &skill.requirements);
    listed.extend(configured_packages(services, name));
    listed.extend(others.iter().cloned());
    Project::read(&text_reader(&skill.files), script, &listed)
}

/// Returns the packages that the configuration adds for a skill.
pub(super) fn configured_packages(services: &Services, skill: &str) -> Vec<ListedPackage> {
    let config = services.config().packages.as_ref();
    let listed = config.and_then(|config| config.of_skills.get(skill));
    listed.cloned().unwrap_or_default()
}

/// Returns the packages that the Python of a skill has.
pub(super) fn installed_python(services: &Services, skill: &str) -> InstalledPython {
    let python = services.interpreter(skill, ScriptType::Python);
    let installed = python.as_deref().map(InstalledPython::of_interpreter);
    installed.unwrap_or_default()
}

/// Returns the packages that the frontmatter lists, with those that would install a missing
/// program.
fn listed_packages(
    services: &Services,
    skill: &str,
    requirements: &Requirements,
) -> Vec<ListedPackage> {
    let finder = services.finder(skill);
    let is_missing = |names: &[String]| !names.iter().any(|name| has_program(&finder, name));
    let of_programs = requirements
        .programs
        .iter()
        .filter(|program| is_missing(&program.any_of))
        // The entries are alternatives.
        .filter_map(|program| {
            program
                .installs
                .iter()
                .find_map(RequiredPackage::of_install)
        });
    let packages = requirements.packages.iter().cloned().chain(of_programs);
    packages.map(ListedPackage::of_frontmatter).collect()
}
