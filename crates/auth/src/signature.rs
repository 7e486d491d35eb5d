//! Shows a receiver that a message of ours is ours: HMAC with SHA-256 (RFC 2104).

use model::Secret;
use sha2::{Digest, Sha256};

const BLOCK: usize = 64;

/// The signature of these bytes under this key, in hex.
pub fn sign(key: &Secret, bytes: &[u8]) -> String {
    let given = key.reveal().as_bytes();
    let hashed: [u8; 32] = Sha256::digest(given).into();
    let key = if given.len() > BLOCK { hashed.as_slice() } else { given };
    let pad = |with: u8| -> Vec<u8> {
        key.iter()
            .copied()
            .chain(std::iter::repeat(0))
            .take(BLOCK)
            .map(|byte| byte ^ with)
            .collect()
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(bytes).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    outer.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases 2 and 6 of RFC 4231.
    #[test]
    fn signatures_are_those_of_the_rfc() {
        let check = |key: &str, text: &str, wanted: &str| {
            assert_eq!(sign(&Secret::new(key), text.as_bytes()), wanted);
        };
        check(
            "Jefe",
            "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        );
        let long = "k".repeat(131);
        assert_eq!(sign(&Secret::new(&long), b"x").len(), 64);
        assert_ne!(sign(&Secret::new(&long), b"x"), sign(&Secret::new("k".repeat(130)), b"x"));
    }
}
