//! What the figures were taken on, since they mean little without it.

use std::fs;
use std::path::Path;
use std::thread;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) kernel: String,
    /// The file system records are kept on; on `tmpfs` durability costs nothing.
    pub(crate) records_on: String,
}

/// Looks at this machine; what cannot be found out is `unknown`.
pub(crate) fn look(records: &Path) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let or_unknown = |found: Option<String>| found.unwrap_or_else(|| "unknown".to_owned());
    let folder = records.canonicalize().unwrap_or_else(|_| records.to_owned());
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    Machine {
        cores: thread::available_parallelism().map_or(0, usize::from),
        processor: or_unknown(processor_in(&read("/proc/cpuinfo"))),
        kernel: or_unknown(Some(kernel).filter(|kernel| !kernel.is_empty())),
        records_on: or_unknown(file_system_in(&read("/proc/self/mounts"), &folder)),
    }
}

fn processor_in(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The type of the file system mounted nearest above the folder; of two at one place, the later.
fn file_system_in(mounts: &str, folder: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((Path::new(fields.next()?), fields.next()?))
    });
    let above = mounts.filter(|(place, _)| folder.starts_with(place));
    above.max_by_key(|(place, _)| place.components().count()).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nshort\n/dev/b /tmp/disk xfs rw 0 0\n/dev/c /tmp/disk btrfs rw 0 0\n";
        let check = |folder: &str, expected: &str| {
            assert_eq!(file_system_in(mounts, Path::new(folder)).as_deref(), Some(expected));
        };
        check("/work", "ext4");
        check("/tmp/x", "tmpfs");
        check("/tmpfiles", "ext4");
        check("/tmp/disk/x", "btrfs");
        assert_eq!(file_system_in("", Path::new("/work")), None);
    }

    #[test]
    fn the_first_processor_gives_its_name() {
        let cpuinfo = "processor : 0\nmodel name\t: A Fast One\n\nmodel name\t: Another\n";
        assert_eq!(processor_in(cpuinfo).as_deref(), Some("A Fast One"));
        assert_eq!(processor_in("processor : 0"), None);
    }
}
