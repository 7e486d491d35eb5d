//! Zeros that fill 100 MB once they are unpacked, in less than one.

use std::sync::LazyLock;

const UNPACKED: usize = 100 << 20;
/// The longest run that one code stands for.
const RUN: usize = 258;

/// One gzip member: a zero, and then "the same again" over and over. Made once: the memory that a
/// fault costs is counted.
pub(super) static GZIP: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let again = "1100010100000";
    let mut bits = Bits::default();
    bits.bytes.reserve_exact(UNPACKED / RUN * again.len() / 8 + 32);
    bits.bytes.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    // The last block, with the codes that need no table.
    bits.push("110");
    bits.push("00110000");
    for _ in 0..UNPACKED / RUN {
        bits.push(again);
    }
    bits.push("0000000");
    bits.bytes.extend([0; 8]);
    bits.bytes
});

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn push(&mut self, bits: &str) {
        for bit in bits.bytes() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= (bit - b'0') << (self.used % 8);
            }
            self.used += 1;
        }
    }
}
