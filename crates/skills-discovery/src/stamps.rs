//! How some files looked.

use std::path::{Path, PathBuf};

use crate::stamp::Moment;
use crate::{Stamp, parallel};

/// How some files and directories looked, to be held against the disk later. Nothing is read, and links are followed.
///
/// For what a catalogue is not made of; a catalogue knows [its own](crate::Fingerprint).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

impl Stamps {
    /// Looks at one more path; a missing one is noted as missing. Whoever reads a directory looks first, so that what changes in between is a change.
    pub fn add(&mut self, path: impl Into<PathBuf>) -> Option<Stamp> {
        let (path, moment) = (path.into(), Moment::now());
        let stamp = Stamp::of_path(&path).map(|stamp| stamp.at(moment));
        self.0.push((path, stamp));
        stamp
    }

    /// Says whether all look as they did. What was written in the moment in which it was looked at first counts as changed, since it may have been
    /// written again.
    #[must_use]
    pub fn are_current(&self) -> bool {
        let is_as_before = |(path, stamp): &(PathBuf, Option<Stamp>)| is_current(path, *stamp);
        parallel::map(&self.0, parallel::cores(), is_as_before).all(|same| same)
    }
}

fn is_current(path: &Path, stamp: Option<Stamp>) -> bool {
    let now = Stamp::of_path(path);
    stamp.map_or(now.is_none(), |stamp| stamp.is_still(now))
}
