//! How much memory a process has, from `/proc`, and how many files it may open.

use std::fs;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::Outcome;

/// The pages of a process that are in memory, in units of 1024 bytes.
pub(crate) fn resident_kib(pid: u32) -> Outcome<u64> {
    let path = format!("/proc/{pid}/status");
    let status =
        fs::read_to_string(&path).map_err(|error| format!("`{path}` is unreadable: {error}"))?;
    resident_in(&status).ok_or_else(|| format!("`{path}` has no `VmRSS`").into())
}

/// Lets this process, and those it starts, open as many files as the machine allows; fails if that
/// is too few.
pub(crate) fn allow_files(needed: u64) -> Outcome<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    match limit.maximum {
        Some(maximum) if maximum < needed => {
            Err(format!("{needed} open files are needed, {maximum} are allowed; see `ulimit -n`")
                .into())
        }
        _ => Ok(()),
    }
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_size_is_found_among_other_lines() {
        let check = |status: &str, expected: Option<u64>| {
            assert_eq!(resident_in(status), expected, "{status}");
        };
        check("Name:\tx\nVmHWM:\t  9 kB\nVmRSS:\t  1234 kB\nThreads:\t1\n", Some(1234));
        check("Name:\tVmRSS: 5 kB\n", None);
        check("VmRSS:\t many kB\n", None);
        check("", None);
    }

    #[test]
    fn this_process_has_some() {
        assert!(resident_kib(std::process::id()).unwrap() > 0);
    }
}
