//! The way of a walk to a directory, which decides by which names lock files can list it.

use std::path::{Path, PathBuf};

/// The way from a root to the directory that others are opened below: the root itself, or the
/// target of the last symlink.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WalkPath {
    /// The canonical path of the directory.
    base: PathBuf,
    /// The symlink that leads to it, and the directories and symlinks on the way to that, without
    /// those of the root. For a root, the symlink that its path ends with, if it does.
    links: Vec<PathBuf>,
    is_root: bool,
}

impl WalkPath {
    /// Returns the way to a root: its path as it was passed to the scan, and its canonical path.
    pub(crate) fn of_root(path: &Path, canonical: &Path) -> Self {
        Self {
            base: canonical.to_owned(),
            links: entry_path(path)
                .filter(|entry| entry != canonical)
                .into_iter()
                .collect(),
            is_root: true,
        }
    }

    /// Returns the path of a source. The directories of its skills do not exist.
    pub(crate) fn of_source(directory: &Path) -> Self {
        Self {
            base: directory.to_owned(),
            links: Vec::new(),
            is_root: true,
        }
    }

    /// Returns the way through the symlink `link`, which is below this directory, to `target`.
    pub(crate) fn through_link(&self, link: &Path, target: &Path) -> Self {
        let links = self.places(link).map(Path::to_owned).collect();
        Self {
            base: target.to_owned(),
            links,
            is_root: false,
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.is_root
    }

    /// Returns the directory entries on the way to `directory`, itself first.
    pub(crate) fn places<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
        let is_between = |path: &&Path| path.starts_with(&self.base) && **path != *self.base;
        let parents = directory.ancestors().skip(1).take_while(is_between);
        std::iter::once(directory)
            .chain(parents)
            .chain(self.links_to(directory))
    }

    /// Returns the symlinks on the way to `directory`, and the directories that contain them.
    pub(crate) fn links_to(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        // What contains the root lists none of its skills, unless the root is a skill.
        let applies = !self.is_root || *directory == *self.base;
        let links = if applies { self.links.as_slice() } else { &[] };
        links.iter().map(PathBuf::as_path)
    }

    /// Returns the path by which the walk found `directory`: through the last symlink.
    pub(crate) fn logical_path(&self, directory: &Path) -> PathBuf {
        let link = self.links.first().filter(|_| !self.is_root);
        match (link, directory.strip_prefix(&self.base)) {
            (Some(link), Ok(below)) if below.as_os_str().is_empty() => link.clone(),
            (Some(link), Ok(below)) => link.join(below),
            _ => directory.to_owned(),
        }
    }
}

/// Returns a path with everything but its last component resolved; `None` if it ends with none.
fn entry_path(path: &Path) -> Option<PathBuf> {
    let (parent, name) = (path.parent()?, path.file_name()?);
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    Some(parent.canonicalize().ok()?.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(walk_path: &WalkPath, directory: &str) -> Vec<String> {
        let places = walk_path.places(Path::new(directory));
        places.map(|place| place.display().to_string()).collect()
    }

    #[test]
    fn places_are_what_the_walk_passed_below_the_root() {
        let root = WalkPath::of_root(Path::new("/r"), Path::new("/r"));
        assert_eq!(places(&root, "/r"), ["/r"]);
        assert_eq!(places(&root, "/r/a"), ["/r/a"]);
        assert_eq!(places(&root, "/r/g/a"), ["/r/g/a", "/r/g"]);
        let group = root.through_link(Path::new("/r/g/link"), Path::new("/else/x"));
        assert_eq!(places(&group, "/else/x"), ["/else/x", "/r/g/link", "/r/g"]);
        assert_eq!(
            places(&group, "/else/x/a"),
            ["/else/x/a", "/r/g/link", "/r/g"]
        );
        assert_eq!(
            group.logical_path(Path::new("/else/x/a")),
            Path::new("/r/g/link/a")
        );
        let second = group.through_link(Path::new("/else/x/l"), Path::new("/y"));
        assert_eq!(
            places(&second, "/y"),
            ["/y", "/else/x/l", "/r/g/link", "/r/g"]
        );
    }
}
