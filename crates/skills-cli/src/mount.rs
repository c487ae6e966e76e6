//! The value of `--mount`: a name, a directory and its access.

use std::path::PathBuf;

use skills_tools::Mount;

/// A mount as given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountArg {
    name: String,
    pub(crate) directory: PathBuf,
    pub(crate) is_writable: bool,
    has_host_path: bool,
}

impl MountArg {
    pub(crate) fn to_mount(&self) -> Mount {
        let mount = if self.is_writable {
            Mount::writable(&self.name, &self.directory)
        } else {
            Mount::read_only(&self.name, &self.directory)
        };
        if self.has_host_path {
            mount.with_host_path()
        } else {
            mount
        }
    }
}

/// Parses `NAME=DIR[,rw][,mirror]`.
pub(crate) fn parse_mount(text: &str) -> Result<MountArg, String> {
    let (name, rest) = text
        .split_once('=')
        .filter(|(name, rest)| !name.is_empty() && !rest.is_empty())
        .ok_or("expected NAME=DIR[,rw][,mirror]")?;
    // Suffixes are removed from the end, since a path can contain commas. A second one of the same
    // kind belongs to the path.
    let (mut directory, mut is_writable, mut is_mirrored) = (rest, false, false);
    loop {
        if let Some(before) = directory.strip_suffix(",rw").filter(|_| !is_writable) {
            (directory, is_writable) = (before, true);
        } else if let Some(before) = directory.strip_suffix(",mirror").filter(|_| !is_mirrored) {
            (directory, is_mirrored) = (before, true);
        } else {
            return Ok(MountArg {
                name: name.to_owned(),
                directory: PathBuf::from(directory),
                is_writable,
                has_host_path: is_mirrored,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_a_name_a_directory_and_access() {
        let check = |text: &str, name: &str, directory: &str, is_writable, is_mirrored| {
            let chosen = MountArg {
                name: name.into(),
                directory: directory.into(),
                is_writable,
                has_host_path: is_mirrored,
            };
            assert_eq!(parse_mount(text), Ok(chosen), "{text}");
        };
        check("data=/srv/data", "data", "/srv/data", false, false);
        check("data=/a=b,c,rw", "data", "/a=b,c", true, false);
        check("data=d,mirror,rw", "data", "d", true, true);
        for wrong in ["data", "=/x", "data="] {
            assert!(parse_mount(wrong).is_err(), "{wrong}");
        }
    }
}
