//! Files for WASI 0.3.

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use cap_primitives::fs::FollowSymlinks;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    Access, Accessor, FutureReader, Linker, Resource, Source, StreamConsumer, StreamReader,
    StreamResult,
};
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p3::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize,
    Host, HostDescriptor, HostDescriptorWithStore, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p3::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p3::filesystem::{FilesystemError, FilesystemResult};

use super::open::{Create, OpenRequest, translate_flags};
use super::view::{AccessError, FsView, HasFsView};
use super::writer::{Position, QuotaWriter};
use crate::store_state::StoreState;

type Fd = Resource<Descriptor>;
type StoreAccessor = Accessor<StoreState, HasFsView>;
type WriteResult = Result<(), ErrorCode>;

pub(super) fn add_to_linker(linker: &mut Linker<StoreState>) -> wasmtime::Result<()> {
    types::add_to_linker::<StoreState, HasFsView>(linker, StoreState::fs_view)?;
    preopens::add_to_linker::<StoreState, HasFsView>(linker, StoreState::fs_view)
}

impl preopens::Host for FsView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.list_preopens()
    }
}

impl Host for FsView<'_> {
    fn convert_error_code(&mut self, error: FilesystemError) -> wasmtime::Result<ErrorCode> {
        self.inner().convert_error_code(error)
    }
}

impl HostDescriptor for FsView<'_> {
    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.inner(), fd)
    }
}

impl From<AccessError> for FilesystemError {
    fn from(failure: AccessError) -> Self {
        match failure {
            AccessError::Errno(error) => error.into(),
            AccessError::Trap(error) => Self::trap(error),
        }
    }
}

translate_flags!();

/// Returns the accessor of `wasmtime-wasi`.
fn inner_accessor(store: &StoreAccessor) -> Accessor<StoreState, WasiFilesystem> {
    store.with_getter::<WasiFilesystem>(StoreState::filesystem)
}

fn inner_access<'a>(
    store: &'a mut Access<'_, StoreState, HasFsView>,
) -> Access<'a, StoreState, WasiFilesystem> {
    use wasmtime::AsContextMut;
    Access::<StoreState, WasiFilesystem>::new(store.as_context_mut(), StoreState::filesystem)
}

/// Calls `look` with the file system state of the run.
fn with_view<T>(store: &StoreAccessor, look: impl FnOnce(&mut FsView<'_>) -> T) -> T {
    // Borrowed only between two waits, since other tasks of the program run meanwhile.
    store.with(|mut access| look(&mut access.get()))
}

/// Receives what a program writes to a file.
struct FileSink {
    writer: QuotaWriter,
    result: Option<oneshot::Sender<WriteResult>>,
}

impl FileSink {
    fn close(&mut self, result: WriteResult) {
        if let Some(sender) = self.result.take() {
            // A program that does not wait for the result does not get it.
            let _ = sender.send(result);
        }
    }
}

impl StreamConsumer<StoreState> for FileSink {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
        store: StoreContextMut<'_, StoreState>,
        source: Source<'_, u8>,
        _finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        match self.writer.write_partial(source.remaining()) {
            Ok(written) => {
                source.mark_read(written);
                Poll::Ready(Ok(StreamResult::Completed))
            }
            Err(error) => {
                self.close(Err(ErrorCode::from(&error)));
                Poll::Ready(Ok(StreamResult::Dropped))
            }
        }
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        // The engine drops the sink when the program has closed its end.
        self.close(Ok(()));
    }
}

fn write(
    mut store: Access<'_, StoreState, HasFsView>,
    fd: &Fd,
    mut data: StreamReader<u8>,
    position: Position,
) -> wasmtime::Result<FutureReader<WriteResult>> {
    let (sender, result) = oneshot::channel();
    let files = store.get();
    let quota = files.preopens.quota.clone();
    match files.writable_file(fd) {
        Ok(file) => {
            let sink = FileSink {
                writer: QuotaWriter::new(file, quota, position),
                result: Some(sender),
            };
            data.pipe(&mut store, sink)?;
        }
        Err(error) => {
            // The program's writes end instead of waiting for a reader.
            data.close(&mut store)?;
            let _ = sender.send(Err(FilesystemError::from(error).downcast()?));
        }
    }
    FutureReader::new(&mut store, result)
}

impl HostDescriptorWithStore<StoreState> for HasFsView {
    async fn open_at(
        store: &StoreAccessor,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FilesystemResult<Fd> {
        with_view(store, |files| {
            Ok(files.open(&fd, &path, open_request(path_flags, open_flags, flags))?)
        })
    }

    fn write_via_stream(
        store: Access<'_, StoreState, Self>,
        fd: Fd,
        data: StreamReader<u8>,
        offset: Filesize,
    ) -> wasmtime::Result<FutureReader<WriteResult>> {
        write(store, &fd, data, Position::Offset(offset))
    }

    fn append_via_stream(
        store: Access<'_, StoreState, Self>,
        fd: Fd,
        data: StreamReader<u8>,
    ) -> wasmtime::Result<FutureReader<WriteResult>> {
        write(store, &fd, data, Position::End)
    }

    fn read_via_stream(
        mut store: Access<'_, StoreState, Self>,
        fd: Fd,
        offset: Filesize,
    ) -> wasmtime::Result<(StreamReader<u8>, FutureReader<WriteResult>)> {
        WasiFilesystem::read_via_stream(inner_access(&mut store), fd, offset)
    }

    fn read_directory(
        mut store: Access<'_, StoreState, Self>,
        fd: Fd,
    ) -> wasmtime::Result<(StreamReader<DirectoryEntry>, FutureReader<WriteResult>)> {
        // If it cannot be created, the empty placeholder remains.
        if let Err(AccessError::Trap(error)) = store.get().ensure_scratch(&fd) {
            return Err(error);
        }
        WasiFilesystem::read_directory(inner_access(&mut store), fd)
    }

    async fn set_size(store: &StoreAccessor, fd: Fd, size: Filesize) -> FilesystemResult<()> {
        with_view(store, |files| {
            let length = files.writable_file(&fd)?.metadata()?.len();
            files
                .preopens
                .quota
                .count_resize(length, size)
                .map_err(AccessError::from)
        })?;
        WasiFilesystem::set_size(&inner_accessor(store), fd, size).await
    }

    async fn create_directory_at(
        store: &StoreAccessor,
        fd: Fd,
        path: String,
    ) -> FilesystemResult<()> {
        let entry = with_view(store, |files| files.resolve_for_create(fd, path))?;
        let result =
            WasiFilesystem::create_directory_at(&inner_accessor(store), entry.fd, entry.path).await;
        with_view(store, |files| files.finish(entry.opened_parent, result))
    }

    async fn link_at(
        store: &StoreAccessor,
        fd: Fd,
        flags: PathFlags,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FilesystemResult<()> {
        // It could be modified through the other name.
        let (from, to) = with_view(store, |files| {
            let from = files.resolve_for_modify(fd, path)?;
            let to = files.resolve_for_create(new_fd, new_path);
            files.or_release(from, to)
        })?;
        let result = WasiFilesystem::link_at(
            &inner_accessor(store),
            from.fd,
            flags,
            from.path,
            to.fd,
            to.path,
        )
        .await;
        let opened = from.opened_parent.into_iter().chain(to.opened_parent);
        with_view(store, |files| files.finish(opened, result))
    }

    async fn symlink_at(
        store: &StoreAccessor,
        fd: Fd,
        target: String,
        path: String,
    ) -> FilesystemResult<()> {
        let entry = with_view(store, |files| files.resolve_for_create(fd, path))?;
        let result =
            WasiFilesystem::symlink_at(&inner_accessor(store), entry.fd, target, entry.path).await;
        with_view(store, |files| files.finish(entry.opened_parent, result))
    }

    async fn rename_at(
        store: &StoreAccessor,
        fd: Fd,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FilesystemResult<()> {
        let (from, to) = with_view(store, |files| {
            let from = files.resolve_for_modify(fd, path)?;
            // Renaming may replace an entry, so the new name is checked like the old one.
            let to = files.resolve_for_modify(new_fd, new_path);
            files.or_release(from, to)
        })?;
        let result =
            WasiFilesystem::rename_at(&inner_accessor(store), from.fd, from.path, to.fd, to.path)
                .await;
        let opened = from.opened_parent.into_iter().chain(to.opened_parent);
        with_view(store, |files| files.finish(opened, result))
    }

    async fn remove_directory_at(
        store: &StoreAccessor,
        fd: Fd,
        path: String,
    ) -> FilesystemResult<()> {
        let entry = with_view(store, |files| files.resolve_for_modify(fd, path))?;
        let result =
            WasiFilesystem::remove_directory_at(&inner_accessor(store), entry.fd, entry.path).await;
        with_view(store, |files| files.finish(entry.opened_parent, result))
    }

    async fn unlink_file_at(store: &StoreAccessor, fd: Fd, path: String) -> FilesystemResult<()> {
        let entry = with_view(store, |files| files.resolve_for_modify(fd, path))?;
        let result =
            WasiFilesystem::unlink_file_at(&inner_accessor(store), entry.fd, entry.path).await;
        with_view(store, |files| files.finish(entry.opened_parent, result))
    }

    async fn set_times_at(
        store: &StoreAccessor,
        fd: Fd,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        let entry = with_view(store, |files| files.resolve_for_modify(fd, path))?;
        let result = if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            // The target of a symlink is checked when it is opened.
            match Self::open_at(
                store,
                entry.fd,
                flags,
                entry.path,
                OpenFlags::empty(),
                DescriptorFlags::READ,
            )
            .await
            {
                Ok(target) => {
                    let result = Self::set_times(
                        store,
                        Resource::new_borrow(target.rep()),
                        accessed,
                        modified,
                    )
                    .await;
                    with_view(store, |files| files.table.delete(target))?;
                    result
                }
                Err(error) => Err(error),
            }
        } else {
            // A trailing slash would follow a symlink.
            let path = entry.path.trim_end_matches('/').to_owned();
            WasiFilesystem::set_times_at(
                &inner_accessor(store),
                entry.fd,
                flags,
                path,
                accessed,
                modified,
            )
            .await
        };
        with_view(store, |files| files.finish(entry.opened_parent, result))
    }

    async fn set_times(
        store: &StoreAccessor,
        fd: Fd,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::set_times(&inner_accessor(store), fd, accessed, modified).await
    }

    async fn stat(store: &StoreAccessor, fd: Fd) -> FilesystemResult<DescriptorStat> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::stat(&inner_accessor(store), fd).await
    }

    async fn stat_at(
        store: &StoreAccessor,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FilesystemResult<DescriptorStat> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::stat_at(&inner_accessor(store), fd, flags, path).await
    }

    async fn readlink_at(store: &StoreAccessor, fd: Fd, path: String) -> FilesystemResult<String> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::readlink_at(&inner_accessor(store), fd, path).await
    }

    async fn metadata_hash(store: &StoreAccessor, fd: Fd) -> FilesystemResult<MetadataHashValue> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::metadata_hash(&inner_accessor(store), fd).await
    }

    async fn metadata_hash_at(
        store: &StoreAccessor,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FilesystemResult<MetadataHashValue> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::metadata_hash_at(&inner_accessor(store), fd, flags, path).await
    }

    async fn is_same_object(store: &StoreAccessor, one: Fd, other: Fd) -> wasmtime::Result<bool> {
        match with_view(store, |files| {
            files
                .ensure_scratch(&one)
                .and_then(|_| files.ensure_scratch(&other))
        }) {
            Ok(_) => WasiFilesystem::is_same_object(&inner_accessor(store), one, other).await,
            // If one cannot be created, it is not the same object as any other.
            Err(AccessError::Errno(_)) => Ok(false),
            Err(AccessError::Trap(error)) => Err(error),
        }
    }

    async fn advise(
        store: &StoreAccessor,
        fd: Fd,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FilesystemResult<()> {
        WasiFilesystem::advise(&inner_accessor(store), fd, offset, length, advice).await
    }

    async fn sync(store: &StoreAccessor, fd: Fd) -> FilesystemResult<()> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::sync(&inner_accessor(store), fd).await
    }

    async fn sync_data(store: &StoreAccessor, fd: Fd) -> FilesystemResult<()> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::sync_data(&inner_accessor(store), fd).await
    }

    async fn get_flags(store: &StoreAccessor, fd: Fd) -> FilesystemResult<DescriptorFlags> {
        with_view(store, |files| files.ensure_scratch(&fd))?;
        WasiFilesystem::get_flags(&inner_accessor(store), fd).await
    }

    async fn get_type(store: &StoreAccessor, fd: Fd) -> FilesystemResult<DescriptorType> {
        WasiFilesystem::get_type(&inner_accessor(store), fd).await
    }
}
