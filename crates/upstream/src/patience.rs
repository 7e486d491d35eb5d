//! How long a server may take to greet: as it did before, and longer each time that was too short.

use std::time::Duration;

use crate::limits;

/// What is known of one server's greetings.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// How long the last one took.
    took: Option<Duration>,
    /// How often it was waited for since, in vain.
    in_vain: u32,
}

impl Patience {
    /// How long to wait this time.
    pub(crate) fn now(&self) -> Duration {
        limits::greeting(self.took, self.in_vain)
    }

    pub(crate) fn greeted(&mut self, took: Duration) {
        *self = Self { took: Some(took), in_vain: 0 };
    }

    /// It may have become slower: it is given longer the next time.
    pub(crate) fn in_vain(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// It may be another server by now, of which nothing is known.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_become_slower_is_given_twice_as_long_each_time() {
        let mut patience = Patience::default();
        let check = |patience: &Patience, seconds: u64| {
            assert_eq!(patience.now(), Duration::from_secs(seconds));
        };
        check(&patience, 90);
        patience.greeted(Duration::from_millis(20));
        for seconds in [3, 6, 12, 24, 48, 90, 90] {
            check(&patience, seconds);
            patience.in_vain();
        }
        patience.greeted(Duration::from_secs(2));
        check(&patience, 16);
        patience.greeted(Duration::from_secs(80));
        check(&patience, 90);
        patience.forget();
        check(&patience, 90);
    }
}
