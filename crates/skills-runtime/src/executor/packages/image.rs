//! Packages that images of containers have.

use skills_deps::InstalledPython;

use super::config::PackageConfig;
use crate::executor::Executor;
use crate::executor::run_plan::RunPlan;

impl Executor {
    /// Returns the packages that the Python of a run has. Those of an image are none before it was
    /// asked.
    pub(super) fn python_of_run(&self, plan: &RunPlan, config: &PackageConfig) -> InstalledPython {
        match &plan.image {
            Some(image) => config.store.python_of_image(image).unwrap_or_default(),
            None => self.installed_python(plan.subject.name()),
        }
    }

    /// Asks the image of a run for its packages, once for each image, if packages seem to be missing.
    /// An image without Python has none.
    pub(super) async fn ask_image(&self, plan: &RunPlan, config: &PackageConfig) {
        let Some(image) = &plan.image else {
            return;
        };
        let is_known = config.store.python_of_image(image).is_some();
        if is_known || self.missing_packages(plan, config).is_none() {
            return;
        }
        if let Ok(context) = self.setup_context(plan, &plan.options.context, config) {
            // The run itself then says why the interpreter cannot be started.
            let _ = config.store.ask_image(image, &context).await;
        }
    }
}
