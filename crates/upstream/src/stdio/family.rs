//! Everything a child has started, found by its process group and by a mark in its environment, so
//! that nothing of it outlives the gate.
//!
//! A [`Guard`] is a small shell that waits for our end, however it comes, and ends what is left then.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The variable that carries the mark.
pub(super) const MARK: &str = "TOOLGATE_CHILD";

/// Reads which groups there are until our end of the pipe closes, then ends them, and whoever else
/// carries the mark.
const SCRIPT: &str = r#"
groups=
while read -r what id; do
  case $what in
    +) groups="$groups $id" ;;
    -) rest=
       for one in $groups; do [ "$one" = "$id" ] || rest="$rest $one"; done
       groups=$rest ;;
    .) exit 0 ;;
  esac
done
for id in $groups; do kill -s KILL -- "-$id" 2>/dev/null; done
for round in 1 2 3; do
  found=$(grep -lzs "^TOOLGATE_CHILD=$1\." /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do id=${file#/proc/}; kill -s KILL "${id%/environ}" 2>/dev/null; done
done
"#;

/// Ends all children when we end, even if we are killed. Shared by all upstreams of a gate.
#[derive(Debug)]
pub struct Guard {
    mark: String,
    last: AtomicU64,
    shell: Mutex<Option<Shell>>,
}

#[derive(Debug)]
struct Shell {
    process: Child,
    groups: ChildStdin,
}

impl Default for Guard {
    fn default() -> Self {
        let random = RandomState::new().hash_one(std::process::id());
        let mark = format!("{}-{random:016x}", std::process::id());
        Self { mark, last: AtomicU64::new(0), shell: Mutex::default() }
    }
}

impl Guard {
    /// A mark for one child and all it starts.
    fn mark(&self) -> String {
        format!("{}.{}", self.mark, self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Tells the shell of a group; starts the shell before the first one.
    fn tell(&self, what: char, group: u32) {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        if shell.is_none() && what == '+' {
            *shell = start(&self.mark)
                .inspect_err(|error| {
                    tracing::warn!(%error, "no guard: children may outlive a killed gate");
                })
                .ok();
        }
        if let Some(shell) = shell.as_mut()
            && let Err(error) = writeln!(shell.groups, "{what} {group}")
        {
            tracing::warn!(%error, "the guard is gone: children may outlive a killed gate");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let shell = self.shell.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Shell { mut process, mut groups }) = shell {
            // Every family holds on to its guard, so there is none left to end.
            if let Err(error) = writeln!(groups, ".") {
                tracing::debug!(%error, "the guard did not hear that all is well");
            }
            drop(groups);
            if let Err(error) = process.wait() {
                tracing::debug!(%error, "the guard ended before us");
            }
        }
    }
}

#[cfg(unix)]
fn start(mark: &str) -> std::io::Result<Shell> {
    use std::os::unix::process::CommandExt as _;
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let mut process = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "toolgate-guard", mark])
        .env_clear()
        .env("PATH", path)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Apart from our group: a Ctrl-C is for us, and the guard is needed a moment longer.
        .process_group(0)
        .spawn()?;
    let groups = process.stdin.take();
    groups.map(|groups| Shell { process, groups }).ok_or_else(|| std::io::Error::other("no pipe"))
}

#[cfg(not(unix))]
fn start(_mark: &str) -> std::io::Result<Shell> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// One child and all it starts.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) mark: String,
    leader: Option<u32>,
    guard: Arc<Guard>,
}

impl Family {
    pub(super) fn new(guard: Arc<Guard>) -> Self {
        Self { mark: guard.mark(), leader: None, guard }
    }

    pub(super) fn led_by(&mut self, leader: Option<u32>) {
        self.leader = leader;
        if let Some(leader) = leader {
            self.guard.tell('+', leader);
        }
    }

    /// Ends what the child started, too: launchers such as `npx` leave the real server behind, and
    /// some servers start others apart from their group. Once is enough.
    pub(super) fn end(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        kill_group(leader);
        kill_marked(&format!("{MARK}={}", self.mark));
        self.guard.tell('-', leader);
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    if let Some(group) = pid(leader)
        && let Err(error) =
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
    {
        tracing::trace!(%error, "no process was left in the group");
    }
}

#[cfg(not(unix))]
fn kill_group(_leader: u32) {}

/// Where the system shows environments: whoever left the group but carries the mark.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &str) {
    let Ok(all) = std::fs::read_dir("/proc") else { return };
    for process in all.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let environ = std::fs::read(process.path().join("environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
            && let Some(id) = pid(id)
            && rustix::process::kill_process(id, rustix::process::Signal::KILL).is_ok()
        {
            tracing::debug!(pid = id.as_raw_nonzero().get(), "ended what a child had left behind");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_marked(_mark: &str) {}
