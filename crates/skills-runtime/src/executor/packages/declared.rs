//! What a skill declares and the host does not have.

use skills_deps::{Environment, EnvironmentKey, InstalledPython, KeyInput, missing_node_packages};
use skills_discovery::SkillFiles;
use skills_library::{find_tool, has_program, nested_scripts, scripts};
use skills_manifest::{RequiredPackage, Requirements};
use skills_packages::{ListedPackage, MAX_FILE_BYTES, Project};
use skills_policy::Request;
use skills_sandbox::ScriptType;

use super::config::PackageConfig;
use crate::ExecutionMode;
use crate::executor::Executor;
use crate::executor::run_plan::RunPlan;
use crate::executor::run_subject::SkillSubject;

/// Declared packages that are missing, with what is needed to install them.
pub(super) struct MissingPackages {
    /// The declarations of the ecosystems in which something is missing.
    pub(super) project: Project,
    pub(super) key: EnvironmentKey,
    /// The missing packages, as declared.
    pub(super) names: Vec<String>,
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

/// Returns the script that a run starts; `None` for a command, which can start any.
pub(super) fn script_of(mode: &ExecutionMode) -> Option<&str> {
    match mode {
        ExecutionMode::Native { script_path, .. } => Some(script_path),
        _ => None,
    }
}

/// Returns a function that reads a text file of the skill.
pub(super) fn text_reader(files: &SkillFiles) -> impl Fn(&str) -> Option<String> {
    |path| files.read_text(path, MAX_FILE_BYTES)
}

impl Executor {
    /// Returns the missing packages of a run; `None` if there are none.
    pub(super) fn missing_packages(
        &self,
        plan: &RunPlan,
        config: &PackageConfig,
    ) -> Option<MissingPackages> {
        if matches!(plan.mode, ExecutionMode::Wasm { .. }) {
            return None;
        }
        self.missing_of_script(plan, script_of(&plan.mode), config)
    }

    /// Returns the environment that has the missing packages of a run: its own, or the one of all
    /// scripts of the skill.
    pub(super) fn installed_environment(
        &self,
        plan: &RunPlan,
        missing: &MissingPackages,
        config: &PackageConfig,
    ) -> Option<Environment> {
        config.store.get(&missing.key).or_else(|| {
            script_of(&plan.mode)?;
            let of_skill = self.missing_of_script(plan, None, config)?;
            let is_part = missing.project.is_part_of(&of_skill.project);
            is_part.then(|| config.store.get(&of_skill.key))?
        })
    }

    /// Returns the script of a run, if it declares other packages than its skill, so that they are
    /// installed for this script alone.
    pub(super) fn declaring_script<'a>(&self, plan: &'a RunPlan) -> Option<&'a str> {
        let script = script_of(&plan.mode)?;
        self.declares_own(plan.subject.skill()?, script)
            .then_some(script)
    }

    /// Returns the scripts that declare other packages than their skill, which are missing.
    pub(super) fn incomplete_scripts(&self, plan: &RunPlan, config: &PackageConfig) -> Vec<String> {
        let Some(skill) = plan.subject.skill() else {
            return Vec::new();
        };
        let lacks_packages = |script: &String| {
            let missing = self
                .declares_own(skill, script)
                .then(|| self.missing_of_script(plan, Some(script), config))
                .flatten();
            missing.is_some_and(|missing| config.store.get(&missing.key).is_none())
        };
        let all = scripts(&skill.files)
            .into_iter()
            .chain(nested_scripts(&skill.files));
        all.filter(lacks_packages).collect()
    }

    fn declares_own(&self, skill: &SkillSubject, script: &str) -> bool {
        let of_script = self.declared_packages(skill, Some(script));
        !of_script.is_part_of(&self.declared_packages(skill, None))
    }

    /// Returns what decides an environment apart from the declarations: indexes, and the programs that
    /// install and use it.
    fn key_input(&self, plan: &RunPlan, project: &Project, config: &PackageConfig) -> KeyInput {
        let finder = self.library().finder(plan.subject.name());
        let with_programs = |input: KeyInput, script_type, tool: &str| match &plan.image {
            Some(image) => input.value(image),
            None => input
                .program(self.interpreter(plan, script_type).as_deref())
                .program(find_tool(finder, tool).as_deref()),
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
    fn missing_of_script(
        &self,
        plan: &RunPlan,
        script: Option<&str>,
        config: &PackageConfig,
    ) -> Option<MissingPackages> {
        let skill = plan.subject.skill()?;
        let mut project = self.declared_packages(skill, script);
        if project.is_empty() {
            return None;
        }
        let read = text_reader(&skill.files);
        let (mut names, mut permissions) = (Vec::new(), Vec::new());
        if let Some(declared) = &project.python {
            let installed = self.python_of_run(plan, config);
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
        let input = self.key_input(plan, &project, config);
        Some(MissingPackages {
            key: EnvironmentKey::new(&project, &input),
            project,
            names,
            permissions,
        })
    }

    /// Returns what a skill declares for a script, or for any command, with what the configuration
    /// adds.
    pub(super) fn declared_packages(&self, skill: &SkillSubject, script: Option<&str>) -> Project {
        let name = skill.entry.name().as_str();
        let mut listed = self.listed_packages(name, &skill.requirements);
        listed.extend(self.configured_packages(name));
        Project::read(&text_reader(&skill.files), script, &listed)
    }

    /// Returns the packages that the configuration adds for a skill.
    pub(super) fn configured_packages(&self, skill: &str) -> Vec<ListedPackage> {
        let config = self.config().packages.as_ref();
        let listed = config.and_then(|config| config.of_skills.get(skill));
        listed.cloned().unwrap_or_default()
    }

    /// Returns the packages that the Python of a skill has.
    pub(super) fn installed_python(&self, skill: &str) -> InstalledPython {
        let backends = &self.config().backends;
        let python = backends.interpreter(skill, ScriptType::Python);
        let installed = python.as_deref().map(InstalledPython::of_interpreter);
        installed.unwrap_or_default()
    }

    /// Returns the packages that the frontmatter lists, with those that would install a missing
    /// program.
    fn listed_packages(&self, skill: &str, requirements: &Requirements) -> Vec<ListedPackage> {
        let finder = self.library().finder(skill);
        let is_missing = |names: &[String]| !names.iter().any(|name| has_program(finder, name));
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
}
