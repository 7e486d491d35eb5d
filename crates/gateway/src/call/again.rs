//! Whether a call that failed is sent again: only as its capability says, never a write without a
//! key, and never so often that an upstream in trouble gets more to do than before.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use catalog::Entry as Tool;
use manifest::{Capability, Retry};
use model::{Code, Fault};
use policy::Permit;

use super::record::Entry;
use crate::gateway::Gateway;

/// How one call may be repeated.
#[derive(Debug)]
pub(super) struct Again {
    retry: Retry,
    made: u32,
}

impl Again {
    pub(super) fn new(tool: &Tool, permit: &Permit, entry: &Entry) -> Self {
        let declared = tool.capability.as_ref().map(Capability::retry);
        let keyless = permit.effect().is_write() && entry.record.call.idempotency_key.is_none();
        let retry = declared.filter(|_| !keyless).unwrap_or_default();
        Self { retry, made: 1 }
    }

    /// How long to wait before the next attempt, if there is to be one after this fault.
    pub(super) fn after(
        &mut self,
        fault: &Fault,
        permit: &Permit,
        gateway: &Gateway,
    ) -> Option<Duration> {
        let allowed = self.made < self.retry.max_attempts
            && self.retry.codes.contains(&fault.code)
            && reaches_upstream(fault.code);
        if !allowed || !gateway.pace.again(permit.upstream()) {
            return None;
        }
        let pause = pause(&self.retry, self.made);
        self.made += 1;
        Some(pause)
    }

    /// Attempts beyond the first.
    pub(super) fn repeats(&self) -> u32 {
        self.made - 1
    }
}

/// Whoever gave up, or was refused by us, is not helped by another attempt.
const fn reaches_upstream(code: Code) -> bool {
    matches!(
        code,
        Code::UpstreamTimeout | Code::UpstreamUnavailable | Code::UpstreamError | Code::RateLimited
    )
}

/// `base * 2^n` up to the cap; with jitter, anywhere in the upper half of that.
fn pause(retry: &Retry, made: u32) -> Duration {
    let doubled = retry.base_ms.saturating_mul(2_u64.saturating_pow(made.saturating_sub(1)));
    let full = doubled.min(retry.cap_ms);
    let jitter = if retry.jitter { random() % (full / 2 + 1) } else { 0 };
    Duration::from_millis(full - jitter)
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap() {
        let check = |jitter: bool, made: u32, least_ms: u64, most_ms: u64| {
            let retry = Retry { base_ms: 100, cap_ms: 1_000, jitter, ..Retry::default() };
            let ms = pause(&retry, made).as_millis();
            assert!((u128::from(least_ms)..=u128::from(most_ms)).contains(&ms), "{made}: {ms}");
        };
        check(false, 1, 100, 100);
        check(false, 2, 200, 200);
        check(false, 4, 800, 800);
        check(false, 5, 1_000, 1_000);
        check(false, 99, 1_000, 1_000);
        for made in 1..6 {
            let full = (100 << (made - 1)).min(1_000);
            check(true, made, full / 2, full);
        }
    }
}
