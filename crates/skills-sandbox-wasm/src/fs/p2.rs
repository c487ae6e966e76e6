//! Files for WASI 0.2.

use cap_primitives::fs::FollowSymlinks;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream,
    ErrorCode, Filesize, Host, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::open::{Create, OpenRequest, translate_flags};
use super::view::{AccessError, FsView, HasFsView};
use super::writer::{Position, QuotaWriter, write_at};
use crate::store_state::StoreState;

type Fd = Resource<Descriptor>;

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
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.inner().convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.inner().filesystem_error_code(error)
    }
}

impl From<AccessError> for FsError {
    fn from(failure: AccessError) -> Self {
        match failure {
            AccessError::Errno(error) => error.into(),
            AccessError::Trap(error) => Self::trap(error),
        }
    }
}

impl FsView<'_> {
    fn open_writer(&mut self, fd: &Fd, position: Position) -> FsResult<Resource<DynOutputStream>> {
        let file = self.writable_file(fd)?;
        let writer: DynOutputStream = Box::new(QuotaWriter::new(
            file,
            self.preopens.quota.clone(),
            position,
        ));
        Ok(self.table.push(writer)?)
    }
}

translate_flags!();

impl HostDescriptor for FsView<'_> {
    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        Ok(self.open(&fd, &path, open_request(path_flags, open_flags, flags))?)
    }

    fn write_via_stream(
        &mut self,
        fd: Fd,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.open_writer(&fd, Position::Offset(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.open_writer(&fd, Position::End)
    }

    async fn write(&mut self, fd: Fd, buffer: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let file = self.writable_file(&fd)?;
        write_at(&file, &self.preopens.quota, &buffer, offset)?;
        Ok(buffer.len() as u64)
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        let length = self.writable_file(&fd)?.metadata()?.len();
        // The growth counts although a hole takes no space: the sum is never less than the actual
        // use.
        self.preopens.quota.count_resize(length, size)?;
        self.inner().set_size(fd, size).await
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let entry = self.resolve_for_create(fd, path)?;
        let result = self.inner().create_directory_at(entry.fd, entry.path).await;
        self.finish(entry.opened_parent, result)
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FsResult<()> {
        // It could be modified through the other name.
        let from = self.resolve_for_modify(fd, path)?;
        let to = self.resolve_for_create(new_fd, new_path);
        let (from, to) = self.or_release(from, to)?;
        let result = self
            .inner()
            .link_at(from.fd, flags, from.path, to.fd, to.path)
            .await;
        self.finish(
            from.opened_parent.into_iter().chain(to.opened_parent),
            result,
        )
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        let entry = self.resolve_for_create(fd, path)?;
        let result = self.inner().symlink_at(entry.fd, target, entry.path).await;
        self.finish(entry.opened_parent, result)
    }

    async fn rename_at(
        &mut self,
        fd: Fd,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FsResult<()> {
        let from = self.resolve_for_modify(fd, path)?;
        // Renaming may replace an entry, so the new name is checked like the old one.
        let to = self.resolve_for_modify(new_fd, new_path);
        let (from, to) = self.or_release(from, to)?;
        let result = self
            .inner()
            .rename_at(from.fd, from.path, to.fd, to.path)
            .await;
        self.finish(
            from.opened_parent.into_iter().chain(to.opened_parent),
            result,
        )
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let entry = self.resolve_for_modify(fd, path)?;
        let result = self.inner().remove_directory_at(entry.fd, entry.path).await;
        self.finish(entry.opened_parent, result)
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let entry = self.resolve_for_modify(fd, path)?;
        let result = self.inner().unlink_file_at(entry.fd, entry.path).await;
        self.finish(entry.opened_parent, result)
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let entry = self.resolve_for_modify(fd, path)?;
        let result = if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            // The target of a symlink is checked when it is opened.
            let target = self
                .open_at(
                    entry.fd,
                    flags,
                    entry.path,
                    OpenFlags::empty(),
                    DescriptorFlags::READ,
                )
                .await;
            match target {
                Ok(target) => {
                    let result = self
                        .set_times(Resource::new_borrow(target.rep()), accessed, modified)
                        .await;
                    self.table.delete(target)?;
                    result
                }
                Err(error) => Err(error),
            }
        } else {
            // A trailing slash would follow a symlink.
            let path = entry.path.trim_end_matches('/').to_owned();
            self.inner()
                .set_times_at(entry.fd, flags, path, accessed, modified)
                .await
        };
        self.finish(entry.opened_parent, result)
    }

    async fn set_times(
        &mut self,
        fd: Fd,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.ensure_scratch(&fd)?;
        self.inner().set_times(fd, accessed, modified).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.ensure_scratch(&fd)?;
        self.inner().stat(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        self.ensure_scratch(&fd)?;
        self.inner().stat_at(fd, flags, path).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.ensure_scratch(&fd)?;
        self.inner().read_directory(fd).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.ensure_scratch(&fd)?;
        self.inner().readlink_at(fd, path).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.ensure_scratch(&fd)?;
        self.inner().metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        self.ensure_scratch(&fd)?;
        self.inner().metadata_hash_at(fd, flags, path).await
    }

    async fn is_same_object(&mut self, one: Fd, other: Fd) -> wasmtime::Result<bool> {
        for fd in [&one, &other] {
            match self.ensure_scratch(fd) {
                Ok(_) => {}
                // If it cannot be created, it is not the same object as any other.
                Err(AccessError::Errno(_)) => return Ok(false),
                Err(AccessError::Trap(error)) => return Err(error),
            }
        }
        self.inner().is_same_object(one, other).await
    }

    async fn advise(
        &mut self,
        fd: Fd,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.inner().advise(fd, offset, length, advice).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.ensure_scratch(&fd)?;
        self.inner().sync(fd).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.ensure_scratch(&fd)?;
        self.inner().sync_data(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.ensure_scratch(&fd)?;
        self.inner().get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.inner().get_type(fd).await
    }

    async fn read(
        &mut self,
        fd: Fd,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.inner().read(fd, length, offset).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.inner().read_via_stream(fd, offset)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.inner(), fd)
    }
}

impl HostDirectoryEntryStream for FsView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.inner().read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.inner(), stream)
    }
}
