//! Bytes gathered until a message is whole, at the cost of the bytes and no more.
//!
//! A vector that grows moves what it holds, and an allocator keeps for a while what it left behind:
//! a peer that never ends its message costs several times what it sent. Pieces stay where they are.

/// Most messages are one piece, and an allocator has so many of them that it uses them again.
const PIECE_BYTES: usize = 16 * 1024;

/// What has come of a message so far.
#[derive(Debug, Default)]
pub struct Pieces {
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Pieces {
    pub fn len(&self) -> usize {
        self.full.len() * PIECE_BYTES + self.last.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.last.len() == PIECE_BYTES {
                self.full.push(std::mem::take(&mut self.last));
            }
            let room = PIECE_BYTES - self.last.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if self.last.len() + now.len() > PIECE_BYTES / 2 {
                self.last.reserve_exact(room);
            }
            self.last.extend_from_slice(now);
            bytes = later;
        }
    }

    /// All of it in one; nothing is left.
    pub fn take(&mut self) -> Vec<u8> {
        let last = std::mem::take(&mut self.last);
        if self.full.is_empty() {
            return last;
        }
        let mut pieces = std::mem::take(&mut self.full);
        pieces.push(last);
        pieces.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_went_in_comes_out(sizes in proptest::collection::vec(0..2 * PIECE_BYTES, 0..6)) {
            let mut pieces = Pieces::default();
            let mut whole = Vec::new();
            for (size, byte) in sizes.into_iter().zip(0u8..) {
                pieces.push(&vec![byte; size]);
                whole.extend(vec![byte; size]);
                prop_assert_eq!(pieces.len(), whole.len());
                prop_assert!(pieces.last.capacity() <= PIECE_BYTES);
            }
            prop_assert_eq!(pieces.take(), whole);
            prop_assert!(pieces.is_empty());
        }
    }
}
