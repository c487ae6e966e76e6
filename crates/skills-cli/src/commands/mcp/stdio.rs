//! The streams of the protocol, isolated from the rest of the process.
//!
//! The descriptors of standard input and output are duplicated, and replaced by an empty input and
//! standard error. Output of a program or library then cannot corrupt a message, and code that
//! reads standard input cannot consume one.

#[cfg(unix)]
pub(crate) use unix::take;

#[cfg(not(unix))]
pub(crate) use other::take;

#[cfg(unix)]
mod unix {
    #![expect(
        clippy::disallowed_methods,
        reason = "the streams of this process are not files of a skill"
    )]

    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;

    use nix::unistd::{dup2_stdin, dup2_stdout};
    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::unix::pipe;

    /// The streams to and from the client.
    pub(crate) struct Streams {
        input: OwnedFd,
        output: OwnedFd,
    }

    type Reader = Box<dyn AsyncRead + Send + Unpin>;
    type Writer = Box<dyn AsyncWrite + Send + Unpin>;

    /// Reserves standard input and output for the protocol. Child processes do not inherit them.
    pub(crate) fn take() -> io::Result<Streams> {
        // The duplicates are close-on-exec, so child processes do not inherit them.
        let streams = Streams {
            input: io::stdin().as_fd().try_clone_to_owned()?,
            output: io::stdout().as_fd().try_clone_to_owned()?,
        };
        dup2_stdin(File::open("/dev/null")?)?;
        // Not `/dev/null`: a message that a library prints should be seen.
        dup2_stdout(io::stderr())?;
        Ok(streams)
    }

    impl Streams {
        /// Converts the streams to asynchronous ones. Pipes and sockets, which clients use, do not
        /// need a blocking thread.
        ///
        /// Must be called inside a Tokio runtime.
        pub(crate) fn open(self) -> io::Result<(Reader, Writer)> {
            Ok((reader(self.input)?, writer(self.output)?))
        }
    }

    /// The type of a stream.
    enum Kind {
        Pipe,
        Socket,
        Other,
    }

    fn kind(descriptor: &OwnedFd) -> io::Result<Kind> {
        let file_type = File::from(descriptor.try_clone()?).metadata()?.file_type();
        Ok(if file_type.is_fifo() {
            Kind::Pipe
        } else if file_type.is_socket() {
            // Some clients, for example on Node.js, connect the streams by socket pairs.
            Kind::Socket
        } else {
            Kind::Other
        })
    }

    fn reader(descriptor: OwnedFd) -> io::Result<Reader> {
        match kind(&descriptor)? {
            Kind::Pipe => {
                // Without /proc, or if the pipe belongs to another user, it keeps its mode and is
                // read on a thread.
                if let Some(pipe) = reopened(&descriptor, OpenOptions::new().read(true)) {
                    return Ok(Box::new(pipe::Receiver::from_file(pipe)?));
                }
            }
            Kind::Socket => return Ok(Box::new(socket(descriptor)?)),
            // The kernel rejects polling of regular files, so they are read on a thread.
            Kind::Other => {}
        }
        Ok(Box::new(forwarded(descriptor.into())?))
    }

    /// Reads a stream on a thread of its own, which may wait for the client for as long as the server
    /// runs: it would occupy a thread of the blocking pool, which may have no other.
    fn forwarded(mut stream: File) -> io::Result<pipe::Receiver> {
        let (reader, mut writer) = io::pipe()?;
        // An error ends the input, as its end does.
        skills_threads::spawn("mcp-input", move || io::copy(&mut stream, &mut writer))?;
        pipe::Receiver::from_owned_fd(reader.into())
    }

    fn writer(descriptor: OwnedFd) -> io::Result<Writer> {
        match kind(&descriptor)? {
            Kind::Pipe => {
                if let Some(pipe) = reopened(&descriptor, OpenOptions::new().write(true)) {
                    return Ok(Box::new(pipe::Sender::from_file(pipe)?));
                }
            }
            Kind::Socket => return Ok(Box::new(socket(descriptor)?)),
            Kind::Other => {}
        }
        Ok(Box::new(tokio::fs::File::from_std(descriptor.into())))
    }

    /// Opens a pipe again, so that non-blocking mode does not affect other processes that share it.
    fn reopened(descriptor: &OwnedFd, options: &mut OpenOptions) -> Option<File> {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::OpenOptionsExt;
        // Duplicates share the status flags of the open file, so `fcntl` would make the pipe
        // non-blocking for other processes too.
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        options
            .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
            .open(path)
            .ok()
    }

    fn socket(descriptor: OwnedFd) -> io::Result<tokio::net::UnixStream> {
        let socket = std::os::unix::net::UnixStream::from(descriptor);
        socket.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(socket)
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;

    use tokio::io::{Stdin, Stdout};

    /// Standard input and output.
    pub(crate) struct Streams;

    /// Uses the standard streams directly; child processes get others.
    #[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
    pub(crate) fn take() -> io::Result<Streams> {
        Ok(Streams)
    }

    impl Streams {
        #[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
        pub(crate) fn open(self) -> io::Result<(Stdin, Stdout)> {
            Ok((tokio::io::stdin(), tokio::io::stdout()))
        }
    }
}
