//! Tests of the table of clients.

use std::collections::BTreeSet;

use skills_clients::{CLIENTS, ConfigBase, Root, RootBase, protected_paths, universal_roots};

fn is_protected(path: &str, protected: &BTreeSet<String>) -> bool {
    let mut ends = path.match_indices('/').map(|(end, _)| &path[..end]);
    protected.contains(path) || ends.any(|parent| protected.contains(parent))
}

/// Every file that a registration of a server writes, and every root that a client scans, is at or
/// below a protected path.
#[test]
fn every_path_of_the_table_is_protected() {
    let protected = protected_paths();
    let mut count = 0;
    for client in CLIENTS {
        let user = client.user_config.iter().flat_map(|file| {
            let bases: &[&str] = match file.base {
                ConfigBase::Config => &[".config/"],
                ConfigBase::Applications => &[
                    ".config/",
                    "AppData/Roaming/",
                    "Library/Application Support/",
                ],
                _ => &[""],
            };
            let paths = bases.iter().map(|base| format!("{base}{}", file.path));
            let windows = file.windows.map(|path| format!("AppData/Roaming/{path}"));
            paths.chain(windows).collect::<Vec<_>>()
        });
        let project = client.project_config.iter().map(ToString::to_string);
        let settings = client.settings.iter().map(ToString::to_string);
        for path in user.chain(project).chain(settings) {
            assert!(is_protected(&path, &protected), "{}: {path}", client.id);
            count += 1;
        }
    }
    for Root { base, path, .. } in universal_roots() {
        let path = match base {
            RootBase::Codex => format!(".codex/{path}"),
            RootBase::Claude => format!(".claude/{path}"),
            RootBase::OpenClaw => format!(".openclaw/{path}"),
            RootBase::XdgConfig => format!(".config/{path}"),
            RootBase::FileSystemRoot | RootBase::Plugins => continue,
            _ => path.to_owned(),
        };
        assert!(is_protected(&path, &protected), "{path}");
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn no_shared_directory_is_protected_as_a_whole() {
    for path in protected_paths() {
        let is_shared = [
            "",
            ".config",
            ".github",
            "AppData",
            "AppData/Roaming",
            "Library",
            "Library/Application Support",
            "skills",
        ]
        .contains(&path.as_str());
        assert!(!is_shared && !path.starts_with('/'), "{path}");
    }
}

#[test]
fn clients_have_different_names() {
    let names: BTreeSet<_> = CLIENTS.iter().map(|client| client.id).collect();
    assert_eq!(names.len(), CLIENTS.len());
}
