//! What a program sees around it, and what a model is told of that.

use std::path::{Path, PathBuf};

use skills_runtime::policy::Access;
use skills_runtime::{Entry, ExecutionOptions};

use super::Programs;
use crate::ToolError;
use crate::shown::Shown;

/// The directories that a program works on, each with the name that a model knows it by.
pub(super) struct Surroundings {
    places: Vec<Around>,
}

struct Around {
    /// `/workspace`, `/skills/pdf`, `/data`.
    alias: String,
    host: PathBuf,
    /// Nothing for what the program has anyway.
    access: Option<Access>,
}

impl Programs {
    /// The workspace, the mounts, and the skill.
    ///
    /// # Errors
    /// When something else was put in the place of a mount.
    pub(super) fn surroundings(&self, entry: Option<&Entry>) -> Result<Surroundings, ToolError> {
        self.files.are_in_place()?;
        let skill = entry.map(|entry| Around {
            alias: format!("/skills/{}", entry.name()),
            host: entry.directory().to_owned(),
            access: None,
        });
        let mounts = self.files.mounts().map(|mount| Around {
            alias: format!("/{}", mount.name),
            host: mount.path.clone(),
            access: Some(mount.access.into()),
        });
        Ok(Surroundings {
            places: skill.into_iter().chain(mounts).collect(),
        })
    }
}

impl Surroundings {
    /// Offers the directories, and other names for them.
    pub(super) fn add_to(&self, options: &mut ExecutionOptions) {
        options.offer.extend(
            self.places
                .iter()
                .filter_map(|place| Some((place.host.clone(), place.access?))),
        );
        options.aliases.extend(
            self.places
                .iter()
                .map(|place| (PathBuf::from(&place.alias), place.host.clone())),
        );
    }

    /// How paths of this machine are told.
    pub(super) fn shown(&self) -> Shown {
        self.places.iter().fold(Shown::default(), |shown, place| {
            shown.with(&place.host, &place.alias)
        })
    }

    /// The name of a directory, without the first slash.
    pub(super) fn name_of(&self, host: &Path) -> Option<&str> {
        self.places
            .iter()
            .find(|place| place.host == host)
            .map(|place| place.alias.trim_start_matches('/'))
    }
}
