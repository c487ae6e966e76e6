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

use super::entry::{Changeable, Failure};
use super::open::{Create, Wish, open, translate_flags};
use super::writer::{Position, Writer};
use super::{Files, HasFiles};
use crate::context::Context;

type Fd = Resource<Descriptor>;
type Ours = Accessor<Context, HasFiles>;
type Written = Result<(), ErrorCode>;

pub(super) fn add_to_linker(linker: &mut Linker<Context>) -> wasmtime::Result<()> {
    types::add_to_linker::<Context, HasFiles>(linker, Context::files)?;
    preopens::add_to_linker::<Context, HasFiles>(linker, Context::files)
}

impl preopens::Host for Files<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.list()
    }
}

impl Host for Files<'_> {
    fn convert_error_code(&mut self, error: FilesystemError) -> wasmtime::Result<ErrorCode> {
        self.inner().convert_error_code(error)
    }
}

impl HostDescriptor for Files<'_> {
    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.inner(), fd)
    }
}

impl From<Failure> for FilesystemError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Told(error) => error.into(),
            Failure::Trap(error) => Self::trap(error),
        }
    }
}

translate_flags!();

/// What does the work.
fn inner(store: &Ours) -> Accessor<Context, WasiFilesystem> {
    store.with_getter::<WasiFilesystem>(Context::filesystem)
}

fn inner_now<'a>(
    store: &'a mut Access<'_, Context, HasFiles>,
) -> Access<'a, Context, WasiFilesystem> {
    use wasmtime::AsContextMut;
    Access::<Context, WasiFilesystem>::new(store.as_context_mut(), Context::filesystem)
}

/// Looks at the state of the run.
fn with<T>(store: &Ours, look: impl FnOnce(&mut Files<'_>) -> T) -> T {
    store.with(|mut access| look(&mut access.get()))
}

/// Takes what a program writes to a file.
struct Sink {
    writer: Writer,
    result: Option<oneshot::Sender<Written>>,
}

impl Sink {
    fn close(&mut self, result: Written) {
        if let Some(sender) = self.result.take() {
            // A program that does not wait for the result is not told.
            let _ = sender.send(result);
        }
    }
}

impl StreamConsumer<Context> for Sink {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
        store: StoreContextMut<'_, Context>,
        source: Source<'_, u8>,
        _finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        match self.writer.write_some(source.remaining()) {
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

impl Drop for Sink {
    fn drop(&mut self) {
        self.close(Ok(()));
    }
}

fn write(
    mut store: Access<'_, Context, HasFiles>,
    fd: &Fd,
    mut data: StreamReader<u8>,
    position: Position,
) -> wasmtime::Result<FutureReader<Written>> {
    let (sender, result) = oneshot::channel();
    let files = store.get();
    let quota = files.directories.quota.clone();
    match files.writable(fd) {
        Ok(file) => {
            let sink = Sink {
                writer: Writer::new(file, quota, position),
                result: Some(sender),
            };
            data.pipe(&mut store, sink)?;
        }
        Err(error) => {
            data.close(&mut store)?;
            let _ = sender.send(Err(FilesystemError::from(error).downcast()?));
        }
    }
    FutureReader::new(&mut store, result)
}

impl HostDescriptorWithStore<Context> for HasFiles {
    async fn open_at(
        store: &Ours,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FilesystemResult<Fd> {
        with(store, |files| {
            let dir = files.dir(&fd)?;
            let opened = open(
                &dir,
                &path,
                wish(path_flags, open_flags, flags),
                files.directories,
            )?;
            Ok(files.table.push(opened)?)
        })
    }

    fn write_via_stream(
        store: Access<'_, Context, Self>,
        fd: Fd,
        data: StreamReader<u8>,
        offset: Filesize,
    ) -> wasmtime::Result<FutureReader<Written>> {
        write(store, &fd, data, Position::At(offset))
    }

    fn append_via_stream(
        store: Access<'_, Context, Self>,
        fd: Fd,
        data: StreamReader<u8>,
    ) -> wasmtime::Result<FutureReader<Written>> {
        write(store, &fd, data, Position::End)
    }

    fn read_via_stream(
        mut store: Access<'_, Context, Self>,
        fd: Fd,
        offset: Filesize,
    ) -> wasmtime::Result<(StreamReader<u8>, FutureReader<Written>)> {
        WasiFilesystem::read_via_stream(inner_now(&mut store), fd, offset)
    }

    fn read_directory(
        mut store: Access<'_, Context, Self>,
        fd: Fd,
    ) -> wasmtime::Result<(StreamReader<DirectoryEntry>, FutureReader<Written>)> {
        // Where it cannot be made, it stays the empty one.
        if let Err(Failure::Trap(error)) = store.get().used(&fd) {
            return Err(error);
        }
        WasiFilesystem::read_directory(inner_now(&mut store), fd)
    }

    async fn set_size(store: &Ours, fd: Fd, size: Filesize) -> FilesystemResult<()> {
        with(store, |files| {
            let length = files.writable(&fd)?.metadata()?.len();
            files
                .directories
                .quota
                .resize(length, size)
                .map_err(Failure::from)
        })?;
        WasiFilesystem::set_size(&inner(store), fd, size).await
    }

    async fn create_directory_at(store: &Ours, fd: Fd, path: String) -> FilesystemResult<()> {
        let Changeable { fd, path, held } = with(store, |files| files.makeable(fd, path))?;
        let result = WasiFilesystem::create_directory_at(&inner(store), fd, path).await;
        with(store, |files| files.release(held))?;
        result
    }

    async fn link_at(
        store: &Ours,
        fd: Fd,
        flags: PathFlags,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FilesystemResult<()> {
        // By another name it could be changed.
        let (from, to) = with(store, |files| {
            let from = files.changeable(fd, path)?;
            let to = files.makeable(new_fd, new_path);
            files.or_release(from, to)
        })?;
        let result =
            WasiFilesystem::link_at(&inner(store), from.fd, flags, from.path, to.fd, to.path).await;
        with(store, |files| files.release(from.held))?;
        with(store, |files| files.release(to.held))?;
        result
    }

    async fn symlink_at(
        store: &Ours,
        fd: Fd,
        target: String,
        path: String,
    ) -> FilesystemResult<()> {
        let Changeable { fd, path, held } = with(store, |files| files.makeable(fd, path))?;
        let result = WasiFilesystem::symlink_at(&inner(store), fd, target, path).await;
        with(store, |files| files.release(held))?;
        result
    }

    async fn rename_at(
        store: &Ours,
        fd: Fd,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FilesystemResult<()> {
        let (from, to) = with(store, |files| {
            let from = files.changeable(fd, path)?;
            let to = files.changeable(new_fd, new_path);
            files.or_release(from, to)
        })?;
        let result =
            WasiFilesystem::rename_at(&inner(store), from.fd, from.path, to.fd, to.path).await;
        with(store, |files| files.release(from.held))?;
        with(store, |files| files.release(to.held))?;
        result
    }

    async fn remove_directory_at(store: &Ours, fd: Fd, path: String) -> FilesystemResult<()> {
        let Changeable { fd, path, held } = with(store, |files| files.changeable(fd, path))?;
        let result = WasiFilesystem::remove_directory_at(&inner(store), fd, path).await;
        with(store, |files| files.release(held))?;
        result
    }

    async fn unlink_file_at(store: &Ours, fd: Fd, path: String) -> FilesystemResult<()> {
        let Changeable { fd, path, held } = with(store, |files| files.changeable(fd, path))?;
        let result = WasiFilesystem::unlink_file_at(&inner(store), fd, path).await;
        with(store, |files| files.release(held))?;
        result
    }

    async fn set_times_at(
        store: &Ours,
        fd: Fd,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        let Changeable { fd, path, held } = with(store, |files| files.changeable(fd, path))?;
        let result = if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            // What a link leads to is judged when it is opened.
            match Self::open_at(
                store,
                fd,
                flags,
                path,
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
                    with(store, |files| files.table.delete(target))?;
                    result
                }
                Err(error) => Err(error),
            }
        } else {
            // A slash at the end would follow a link.
            let path = path.trim_end_matches('/').to_owned();
            WasiFilesystem::set_times_at(&inner(store), fd, flags, path, accessed, modified).await
        };
        with(store, |files| files.release(held))?;
        result
    }

    async fn set_times(
        store: &Ours,
        fd: Fd,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::set_times(&inner(store), fd, accessed, modified).await
    }

    async fn stat(store: &Ours, fd: Fd) -> FilesystemResult<DescriptorStat> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::stat(&inner(store), fd).await
    }

    async fn stat_at(
        store: &Ours,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FilesystemResult<DescriptorStat> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::stat_at(&inner(store), fd, flags, path).await
    }

    async fn readlink_at(store: &Ours, fd: Fd, path: String) -> FilesystemResult<String> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::readlink_at(&inner(store), fd, path).await
    }

    async fn metadata_hash(store: &Ours, fd: Fd) -> FilesystemResult<MetadataHashValue> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::metadata_hash(&inner(store), fd).await
    }

    async fn metadata_hash_at(
        store: &Ours,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FilesystemResult<MetadataHashValue> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::metadata_hash_at(&inner(store), fd, flags, path).await
    }

    async fn is_same_object(store: &Ours, one: Fd, other: Fd) -> wasmtime::Result<bool> {
        match with(store, |files| {
            files.used(&one).and_then(|_| files.used(&other))
        }) {
            Ok(_) => WasiFilesystem::is_same_object(&inner(store), one, other).await,
            // Where one cannot be made, nothing else is the same.
            Err(Failure::Told(_)) => Ok(false),
            Err(Failure::Trap(error)) => Err(error),
        }
    }

    async fn advise(
        store: &Ours,
        fd: Fd,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FilesystemResult<()> {
        WasiFilesystem::advise(&inner(store), fd, offset, length, advice).await
    }

    async fn sync(store: &Ours, fd: Fd) -> FilesystemResult<()> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::sync(&inner(store), fd).await
    }

    async fn sync_data(store: &Ours, fd: Fd) -> FilesystemResult<()> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::sync_data(&inner(store), fd).await
    }

    async fn get_flags(store: &Ours, fd: Fd) -> FilesystemResult<DescriptorFlags> {
        with(store, |files| files.used(&fd))?;
        WasiFilesystem::get_flags(&inner(store), fd).await
    }

    async fn get_type(store: &Ours, fd: Fd) -> FilesystemResult<DescriptorType> {
        WasiFilesystem::get_type(&inner(store), fd).await
    }
}
