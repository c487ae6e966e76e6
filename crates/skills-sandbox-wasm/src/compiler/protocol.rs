//! The messages between parent and child.
//!
//! | request | bytes |
//! |---|---|
//! | magic, which changes with this format | 8 |
//! | key of the authentication code, random | 32 |
//! | whether fuel is counted | 1 |
//! | memory in bytes, processor time in seconds, length of the component; little-endian | 8 each |
//! | component | variable |
//!
//! | reply | bytes |
//! |---|---|
//! | status | 1 |
//! | authentication code of status and content | 32 |
//! | compiled code, or the reason why there is none | the rest |
//!
//! The authentication code shows that the reply was created by this code for this request and is
//! complete. It does not protect against other users, who cannot write to the pipe, but against a
//! wrong program in the configuration: then nothing is loaded.

use std::io::{self, Read, Write};

use crate::{MAX_COMPONENT_BYTES, WasmProfile};

use super::command::CompileLimits;

const MAGIC: [u8; 8] = *b"skwasmc1";
const KEY_BYTES: usize = 32;
const MAC_BYTES: usize = blake3::OUT_LEN;
/// The maximum size of compiled code. For real components it is two to three times the size of the
/// component.
pub(super) const MAX_REPLY_BYTES: usize = 128 << 20;

/// The header before the component.
#[derive(Debug)]
pub(super) struct CompileRequest {
    key: [u8; KEY_BYTES],
    counts_fuel: bool,
    pub(super) memory_bytes: u64,
    pub(super) cpu_seconds: u64,
    component_bytes: u64,
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum CompileStatus {
    /// The content is compiled code.
    Compiled = 0,
    /// The component is not valid; the content says why.
    Invalid = 1,
    /// The compiler failed; the content says why.
    Failed = 2,
}

impl CompileRequest {
    pub(super) fn new(
        component: &[u8],
        profile: WasmProfile,
        limits: &CompileLimits,
    ) -> io::Result<Self> {
        let mut key = [0; KEY_BYTES];
        // A key for each request, so that no earlier reply is valid.
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let component_bytes = component.len() as u64;
        Ok(Self {
            key,
            counts_fuel: profile != WasmProfile::Fast,
            memory_bytes: limits.memory_bytes,
            cpu_seconds: limits.cpu_seconds(),
            component_bytes,
        })
    }

    pub(super) fn write(&self, component: &[u8], output: &mut impl Write) -> io::Result<()> {
        let mut header = Vec::from(MAGIC);
        header.extend(self.key);
        header.push(u8::from(self.counts_fuel));
        for number in [self.memory_bytes, self.cpu_seconds, self.component_bytes] {
            header.extend(number.to_le_bytes());
        }
        output.write_all(&header)?;
        output.write_all(component)?;
        output.flush()
    }

    /// Reads the header before the component.
    pub(super) fn read(input: &mut impl Read) -> io::Result<Self> {
        if read_array::<8>(input)? != MAGIC {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "expected a request of the same version of this program",
            ));
        }
        let key = read_array(input)?;
        let [counts_fuel] = read_array(input)?;
        Ok(Self {
            key,
            counts_fuel: counts_fuel != 0,
            // The fields are read in the order in which they are written.
            memory_bytes: read_number(input)?,
            cpu_seconds: read_number(input)?,
            component_bytes: read_number(input)?,
        })
    }

    /// Returns the profile to compile for.
    pub(super) fn profile(&self) -> WasmProfile {
        if self.counts_fuel {
            // The seed does not affect compilation.
            WasmProfile::Deterministic { seed: 0 }
        } else {
            WasmProfile::Fast
        }
    }

    /// Reads the component, which follows the header.
    pub(super) fn read_component(&self, input: &mut impl Read) -> io::Result<Vec<u8>> {
        // The adapter makes a component larger than its core module.
        let length = usize::try_from(self.component_bytes)
            .ok()
            .filter(|bytes| *bytes <= 2 * MAX_COMPONENT_BYTES);
        let mut component = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
        input.read_exact(&mut component)?;
        Ok(component)
    }

    pub(super) fn reply(
        &self,
        status: CompileStatus,
        content: &[u8],
        output: &mut impl Write,
    ) -> io::Result<()> {
        output.write_all(&[status as u8])?;
        output.write_all(self.reply_mac(status, content).as_bytes())?;
        output.write_all(content)?;
        output.flush()
    }

    /// Reads the whole reply and verifies it.
    ///
    /// # Errors
    /// Fails if the reply ends too early, is too long, or was not created for this request.
    pub(super) fn read_reply(&self, input: &mut impl Read) -> io::Result<(CompileStatus, Vec<u8>)> {
        let [status] = read_array(input)?;
        let code: [u8; MAC_BYTES] = read_array(input)?;
        let mut content = Vec::new();
        input
            // The additional byte shows that a reply is too long.
            .take(MAX_REPLY_BYTES as u64 + 1)
            .read_to_end(&mut content)?;
        let status = [
            CompileStatus::Compiled,
            CompileStatus::Invalid,
            CompileStatus::Failed,
        ]
        .into_iter()
        .find(|known| *known as u8 == status);
        // Compared as `blake3::Hash`, in constant time.
        let is_ours = |status: &CompileStatus| {
            content.len() <= MAX_REPLY_BYTES
                && self.reply_mac(*status, &content) == blake3::Hash::from_bytes(code)
        };
        match status.filter(is_ours) {
            Some(status) => Ok((status, content)),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "expected a reply of a compiler of the same version",
            )),
        }
    }

    fn reply_mac(&self, status: CompileStatus, content: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // The status is authenticated, too: the reason of a failure must not be loaded as code.
        hasher.update(&[status as u8]).update(content).finalize()
    }
}

fn read_number(input: &mut impl Read) -> io::Result<u64> {
    read_array(input).map(u64::from_le_bytes)
}

fn read_array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn request(component: &[u8]) -> CompileRequest {
        CompileRequest::new(
            component,
            WasmProfile::Fast,
            &CompileLimits {
                memory_bytes: 1,
                timeout: Duration::from_secs(2),
                threads: 3,
            },
        )
        .unwrap()
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        request(b"component")
            .write(b"component", &mut bytes)
            .unwrap();
        let input = &mut bytes.as_slice();
        let read = CompileRequest::read(input).unwrap();
        assert_eq!(
            (read.memory_bytes, read.cpu_seconds, read.counts_fuel),
            (1, 9, false)
        );
        assert_eq!(read.read_component(input).unwrap(), b"component");
        CompileRequest::read(&mut &b"#!/bin/sh\n"[..]).unwrap_err();
    }

    #[test]
    fn only_a_complete_reply_to_the_same_request_is_accepted() {
        let asked = request(b"component");
        let mut bytes = Vec::new();
        asked
            .reply(CompileStatus::Compiled, b"code", &mut bytes)
            .unwrap();
        assert_eq!(
            asked.read_reply(&mut bytes.as_slice()).unwrap(),
            (CompileStatus::Compiled, b"code".to_vec())
        );
        let others = request(b"component");
        others.read_reply(&mut bytes.as_slice()).unwrap_err();
        for length in 0..bytes.len() {
            asked.read_reply(&mut &bytes[..length]).unwrap_err();
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            asked.read_reply(&mut changed.as_slice()).unwrap_err();
        }
    }
}
