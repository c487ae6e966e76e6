//! Executable files of machine code, for programs of backends.

/// Where a program is loaded: above the lowest mappable addresses, and aligned to any page size.
const LOAD_ADDRESS: u64 = 0x40_0000;
const ELF_HEADER_BYTES: u64 = 64;
const PROGRAM_HEADER_BYTES: u64 = 56;
const HEADER_BYTES: u64 = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// Creates an executable file for this architecture from position-independent code, which is executed from
/// its start, and data behind it. Both are one segment, which is readable and never written. `data` gets
/// the address at which the data will be.
///
/// Programs that a backend runs in front of that of a job are made so: they need no library, which the
/// file system of the run may not have.
#[must_use]
pub fn small_executable(code: &[u8], data: impl FnOnce(u64) -> Vec<u8>) -> Vec<u8> {
    const FIXED_ADDRESS: u16 = 2;
    const VERSION: u32 = 1;
    const LOADED_SEGMENT: u32 = 1;
    const READABLE_AND_EXECUTABLE: u32 = 5;
    const ALIGNMENT: u64 = 0x1_0000;
    let data = data(LOAD_ADDRESS + HEADER_BYTES + code.len() as u64);
    let size = HEADER_BYTES + (code.len() + data.len()) as u64;
    // 64 bits, little-endian.
    let mut image = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    image.extend([FIXED_ADDRESS, MACHINE].map(u16::to_le_bytes).concat());
    image.extend(VERSION.to_le_bytes());
    // The first instruction, the program headers, and no section headers.
    let offsets = [LOAD_ADDRESS + HEADER_BYTES, ELF_HEADER_BYTES, 0];
    image.extend(offsets.map(u64::to_le_bytes).concat());
    image.extend(0u32.to_le_bytes());
    let sizes = [
        ELF_HEADER_BYTES as u16,
        PROGRAM_HEADER_BYTES as u16,
        1,
        64,
        0,
        0,
    ];
    image.extend(sizes.map(u16::to_le_bytes).concat());
    image.extend(
        [LOADED_SEGMENT, READABLE_AND_EXECUTABLE]
            .map(u32::to_le_bytes)
            .concat(),
    );
    let segment = [0, LOAD_ADDRESS, LOAD_ADDRESS, size, size, ALIGNMENT];
    image.extend(segment.map(u64::to_le_bytes).concat());
    image.extend_from_slice(code);
    image.extend(data);
    image
}
