//! Roots for rows of the table, and the order of a scan of all of them.

use crate::client::{Root, RootBase, RootScope};
use crate::table::CLIENTS;

pub(crate) const fn root(base: RootBase, path: &'static str, scope: RootScope) -> Root {
    Root { base, path, scope }
}

pub(crate) const fn project(path: &'static str) -> Root {
    root(RootBase::ProjectUpwards, path, RootScope::Repo)
}

pub(crate) const fn working(path: &'static str) -> Root {
    root(RootBase::Working, path, RootScope::Repo)
}

pub(crate) const fn home(path: &'static str) -> Root {
    root(RootBase::Home, path, RootScope::User)
}

pub(crate) const fn config(path: &'static str) -> Root {
    root(RootBase::XdgConfig, path, RootScope::User)
}

pub(crate) const fn admin(path: &'static str) -> Root {
    root(RootBase::FileSystemRoot, path, RootScope::Admin)
}

pub(crate) const fn downward(path: &'static str) -> Root {
    root(RootBase::ProjectDownwards, path, RootScope::Repo)
}

pub(crate) const PLUGINS: Root = root(RootBase::Plugins, "", RootScope::User);

/// Returns the own roots of all clients, in the order of a scan in which the first root wins: those
/// of the project before those of the user, since they are the more specific choice, then those of
/// plugins, of the clients and of the administrator. In each group they have the order of the table.
pub fn universal_roots() -> impl Iterator<Item = Root> {
    let all = || CLIENTS.iter().flat_map(|client| client.roots).copied();
    let with_base = move |base| all().filter(move |root| root.base == base);
    let of_host = |root: &Root| matches!(root.scope, RootScope::System | RootScope::Admin);
    with_base(RootBase::ProjectUpwards)
        .chain(with_base(RootBase::Working))
        .chain(all().filter(|root| root.scope == RootScope::User))
        .chain([PLUGINS])
        .chain(
            CLIENTS
                .iter()
                .rev()
                .flat_map(|client| client.roots)
                .copied()
                .filter(of_host),
        )
}
