//! A terminal of its own for each page: a home, a folder to work in, and a screen to read.
//!
//! Commands run under `sh` with a real pseudo-terminal as their output, so that the pages show what
//! people see. A gate that was started stays up until the page shows `^C` or ends.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use super::blocks::Step;
use super::shown;

/// How a page may begin a command, and what is run for it.
const CARGO: &str = "cargo run --release -- ";
/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Terminal {
    home: TempDir,
    /// Ends when dropped.
    gate: Option<Running>,
    last_code: i32,
}

impl Terminal {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in ["work", "bin"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        let binary = env!("CARGO_BIN_EXE_toolgate");
        std::os::unix::fs::symlink(binary, home.path().join("bin/toolgate")).unwrap();
        Self { home, gate: None, last_code: 0 }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Types one command and gives what is on the screen after it.
    pub(super) fn run(&mut self, step: &Step) -> Vec<String> {
        if step.command == "echo $?" {
            return vec![self.last_code.to_string()];
        }
        let line = step.command.replace(CARGO, "toolgate ");
        let lines = if line.starts_with("toolgate ") && line.split(' ').any(|word| word == "up") {
            self.start(&step.command, &line, &step.output)
        } else {
            let mut running = self.spawn(&step.command, &line);
            let lines = running.rest();
            self.last_code = running.code();
            let fine = self.last_code == 0;
            let said_so = lines.iter().any(|line| is_error(line));
            assert!(fine != said_so, "$ {line} ended with {}: {lines:#?}", self.last_code);
            lines
        };
        lines.iter().map(|line| self.without_places(line)).collect()
    }

    /// A configuration of the page must be good, whatever variables it names.
    pub(super) fn check_config(&self, place: &str, title: &str, text: &str) {
        let mut command = self.command();
        for (_, after) in
            text.match_indices("${").filter_map(|(at, _)| text.split_at_checked(at + 2))
        {
            let name = after.trim_start_matches("env:");
            let name = name.split(['}', ':']).next().unwrap_or_default();
            command.env(name, "a-value-of-the-environment");
        }
        let output =
            command.args(["-c", &format!("toolgate config check {title}")]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {said}");
    }

    /// Starts a gate on a free port; the page has the usual one.
    fn start(&mut self, typed: &str, line: &str, output: &[String]) -> Vec<String> {
        self.gate = None;
        let (stops, wanted) = match output {
            [wanted @ .., last] if last == "^C" => (true, wanted),
            _ => (false, output),
        };
        let mut running = self.spawn(typed, &format!("exec {line} --port 0"));
        let mut lines = running.until(|lines| {
            let lines: Vec<String> = lines.iter().map(|line| self.without_places(line)).collect();
            shown::difference(wanted, &lines).is_none()
        });
        if stops {
            running.interrupt();
            lines.push("^C".to_owned());
        } else {
            self.gate = Some(running);
        }
        lines
    }

    fn spawn(&self, typed: &str, line: &str) -> Running {
        let mut command = self.command();
        if typed.starts_with(CARGO) {
            // Cargo sets it for what it runs.
            command.env("CARGO", "cargo");
        }
        command.args(["-c", line]);
        Running::start(command)
    }

    fn command(&self) -> Command {
        let home = self.home.path();
        let mut command = Command::new("/bin/sh");
        command
            .current_dir(self.folder())
            .env_clear()
            .env("HOME", home)
            .env("USER", "ann")
            .env("PATH", format!("{}:/usr/bin:/bin", home.join("bin").display()))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// The line as everybody would see it: `~` for our home, the usual ports for ours.
    fn without_places(&self, line: &str) -> String {
        let line = line.replace(&self.home.path().display().to_string(), "~");
        let Some((before, after)) = line.split_once("http://127.0.0.1:") else { return line };
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let port = if after.starts_with("/sse") { 8000 } else { 8642 };
        format!("{before}http://127.0.0.1:{port}{}", self.without_places(after))
    }
}

fn is_error(line: &str) -> bool {
    line.starts_with("error: ") || line.starts_with(r#"{"error":"#)
}

/// A command with its screen.
struct Running {
    child: Child,
    screen: Receiver<String>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let (ours, theirs) = open_terminal();
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let child = command.spawn().unwrap();
        // Our copies of their end go with `command`; else the screen would never end.
        drop(command);
        let (lines, screen) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(ours);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
                if lines.send(line.trim_end_matches(['\r', '\n']).to_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        Self { child, screen }
    }

    fn rest(&mut self) -> Vec<String> {
        self.until(|_| false)
    }

    /// The screen as soon as it is good, or when nothing more comes.
    fn until(&mut self, good: impl Fn(&[String]) -> bool) -> Vec<String> {
        let (mut lines, deadline) = (Vec::new(), Instant::now() + PATIENCE);
        while !good(&lines) {
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Disconnected) => return lines,
                Err(RecvTimeoutError::Timeout) => panic!("it hangs after printing {lines:#?}"),
            }
        }
        lines
    }

    fn code(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }

    /// Presses Ctrl-C; the gate must then end well.
    fn interrupt(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let said = self.rest();
        assert_eq!(self.code(), 0, "{said:#?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing left to end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn open_terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(Path::new(name.to_str().unwrap()));
    (File::from(ours), theirs.unwrap())
}
