//! A signer of minisign for tests: Ed25519 over BLAKE2b-512.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};

/// A key that is made of one byte.
pub(crate) struct Signer {
    key: Ed25519KeyPair,
    id: [u8; 8],
}

impl Signer {
    pub(crate) fn new(seed: u8) -> Self {
        Self {
            key: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap(),
            id: [seed; 8],
        }
    }

    /// Names another key in signatures.
    pub(crate) fn with_id(mut self, id: u8) -> Self {
        self.id = [id; 8];
        self
    }

    pub(crate) fn public_key(&self) -> String {
        let key = self.key.public_key().as_ref();
        STANDARD.encode([b"Ed".as_slice(), &self.id, key].concat())
    }

    pub(crate) fn sign(&self, content: impl AsRef<[u8]>) -> String {
        let signature = self.key.sign(&blake2b(content.as_ref()));
        let comment = "timestamp:0";
        let global = [signature.as_ref(), comment.as_bytes()].concat();
        let global = self.key.sign(&global);
        let signature = [b"ED".as_slice(), &self.id, signature.as_ref()].concat();
        format!(
            "untrusted comment: signature\n{}\ntrusted comment: {comment}\n{}\n",
            STANDARD.encode(signature),
            STANDARD.encode(global)
        )
    }
}

const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
/// The columns and diagonals of a round.
const MIXED: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// BLAKE2b with 64 bytes (RFC 7693).
fn blake2b(content: &[u8]) -> [u8; 64] {
    let mut state = IV;
    state[0] ^= 0x0101_0040;
    let blocks = content.len().div_ceil(128).max(1);
    for index in 0..blocks {
        let block = &content[index * 128..content.len().min(index * 128 + 128)];
        let is_last = index + 1 == blocks;
        let counted = if is_last {
            content.len()
        } else {
            (index + 1) * 128
        };
        compress(&mut state, block, counted as u64, is_last);
    }
    let mut hash = [0; 64];
    for (bytes, word) in hash.chunks_mut(8).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    hash
}

fn compress(state: &mut [u64; 8], block: &[u8], counted: u64, is_last: bool) {
    let mut padded = [0; 128];
    padded[..block.len()].copy_from_slice(block);
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(padded.chunks(8)) {
        *word = u64::from_le_bytes(bytes.try_into().unwrap());
    }
    let mut work = [0; 16];
    work[..8].copy_from_slice(state);
    work[8..].copy_from_slice(&IV);
    work[12] ^= counted;
    if is_last {
        work[14] = !work[14];
    }
    for round in 0..12 {
        let order = SIGMA[round % 10];
        for (index, [a, b, c, d]) in MIXED.into_iter().enumerate() {
            let (x, y) = (words[order[2 * index]], words[order[2 * index + 1]]);
            work[a] = work[a].wrapping_add(work[b]).wrapping_add(x);
            work[d] = (work[d] ^ work[a]).rotate_right(32);
            work[c] = work[c].wrapping_add(work[d]);
            work[b] = (work[b] ^ work[c]).rotate_right(24);
            work[a] = work[a].wrapping_add(work[b]).wrapping_add(y);
            work[d] = (work[d] ^ work[a]).rotate_right(16);
            work[c] = work[c].wrapping_add(work[d]);
            work[b] = (work[b] ^ work[c]).rotate_right(63);
        }
    }
    for index in 0..8 {
        state[index] ^= work[index] ^ work[index + 8];
    }
}
