//! What a child prints besides messages: ignored, unless it is so much that reading it is a burden.

use tokio::time::Instant;

use crate::limits;

#[derive(Debug)]
pub(super) struct Noise {
    since: Instant,
    bytes: usize,
}

impl Noise {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }

    /// Who answers may print as much as it likes.
    pub(super) fn message(&mut self) {
        self.bytes = 0;
    }

    /// Says whether that was too much.
    pub(super) fn hear(&mut self, bytes: usize) -> bool {
        if self.bytes == 0 || self.since.elapsed() > limits::NOISE_TIME {
            *self = Self::new();
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes > limits::NOISE_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_flood_of_noise_is_too_much() {
        let (much, long) = (limits::NOISE_BYTES_MAX, limits::NOISE_TIME * 2);
        let mut noise = Noise::new();
        for _ in 0..100 {
            assert!(!noise.hear(much), "once in a while");
            tokio::time::advance(long).await;
        }
        for _ in 0..100 {
            assert!(!noise.hear(much), "between messages");
            noise.message();
        }
        assert!(!noise.hear(much));
        assert!(noise.hear(1));
    }
}
