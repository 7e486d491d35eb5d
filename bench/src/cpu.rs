//! How much processor time a process or this thread has had. Linux only, like the rest of the bench.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Outcome;

/// The auxiliary vector's tag for the clock's ticks per second.
const AT_CLKTCK: u64 = 17;

/// Does the work, and says how much processor time of this thread it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let before = of_this_thread();
    let done = work();
    (of_this_thread().saturating_sub(before), done)
}

/// The same for what the work's own threads take.
pub(crate) fn timed_with_threads<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let before = by(ClockId::ProcessCPUTime);
    let done = work();
    (by(ClockId::ProcessCPUTime).saturating_sub(before), done)
}

fn of_this_thread() -> Duration {
    by(ClockId::ThreadCPUTime)
}

fn by(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), nanos)
}

/// User and system time of all threads of a process since it began, to the clock's tick.
pub(crate) fn spent(pid: u32) -> Outcome<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat =
        fs::read_to_string(&path).map_err(|error| format!("`{path}` is unreadable: {error}"))?;
    let ticks = ticks(&stat).ok_or_else(|| format!("`{path}` has no processor times"))?;
    Ok(Duration::from_secs(ticks) / ticks_per_second()?)
}

/// `utime` and `stime` of a line of `/proc/PID/stat`, in ticks.
///
/// The command stands second, in parentheses, and may hold spaces and parentheses itself: only what
/// follows the last one can be counted.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after_command) = stat.rsplit_once(')')?;
    let mut fields = after_command.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

/// What the kernel told this process at its start; `sysconf` would need a foreign call.
fn ticks_per_second() -> Outcome<u32> {
    let vector = fs::read("/proc/self/auxv")?;
    let found = ticks_per_second_in(&vector).filter(|ticks| *ticks > 0);
    found.ok_or_else(|| "the kernel does not tell its ticks per second".into())
}

fn ticks_per_second_in(vector: &[u8]) -> Option<u32> {
    const WORD: usize = size_of::<u64>();
    let words = vector.chunks_exact(WORD).filter_map(|word| word.try_into().ok());
    let words = words.map(u64::from_ne_bytes).collect::<Vec<_>>();
    let pair = words.chunks_exact(2).find(|pair| pair.first() == Some(&AT_CLKTCK))?;
    u32::try_from(*pair.last()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_found_whatever_the_command_is_called() {
        let check = |command: &str, expected: Option<u64>| {
            let line = format!(
                "4242 ({command}) S 1 4242 4242 0 -1 4194304 900 0 3 0 123 45 6 7 20 0 3 0 99 1 2"
            );
            assert_eq!(ticks(&line), expected, "{command}");
        };
        check("toolgate", Some(168));
        check("tool gate", Some(168));
        check("a) S 1 (b", Some(168));
        check("", Some(168));
    }

    #[test]
    fn a_line_cut_short_has_no_times() {
        let check = |line: &str| assert_eq!(ticks(line), None, "{line}");
        check("");
        check("4242 (toolgate");
        check("4242 (toolgate) S 1 4242 4242 0 -1 4194304 900 0 3 0 123");
        check("4242 (toolgate) S 1 4242 4242 0 -1 4194304 900 0 3 0 123 x");
    }

    #[test]
    fn ticks_per_second_are_found_among_other_entries() {
        let vector = |entries: &[u64]| {
            entries.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>()
        };
        assert_eq!(ticks_per_second_in(&vector(&[6, 4096, 17, 100, 0, 0])), Some(100));
        assert_eq!(ticks_per_second_in(&vector(&[6, 17, 0, 0])), None);
        assert_eq!(ticks_per_second_in(&[17]), None);
    }

    #[test]
    fn this_process_has_its_times() {
        assert!(spent(std::process::id()).is_ok());
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "(?s).{0,200}") {
            prop_assert!(ticks(&line).is_none() || line.contains(')'));
        }
    }
}
