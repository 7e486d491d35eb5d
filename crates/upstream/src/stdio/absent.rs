//! Why a program could not be started, in words that say what to do about it.

use std::io::{Error, ErrorKind};
use std::path::Path;

use model::{Code, Fault};

use super::Config;

/// What a launcher that is not there belongs to.
const RUNTIMES: &[(&str, &[&str])] = &[
    ("Node.js", &["node", "npm", "npx"]),
    ("uv", &["uv", "uvx"]),
    ("Python", &["python", "python3", "pip", "pipx"]),
    ("Docker", &["docker"]),
    ("Bun", &["bun", "bunx"]),
    ("Deno", &["deno"]),
];

/// The system's code for a file that is neither a program nor a script with an interpreter.
const NO_PROGRAM: i32 = 8;

pub(super) fn cannot_start(config: &Config, error: &Error) -> Fault {
    let why = why(&config.command, config.cwd.as_deref(), error);
    let message = format!("cannot start `{}`: {why}", config.command);
    Fault::new(Code::UpstreamUnavailable, message).logging(error)
}

fn why(command: &str, cwd: Option<&Path>, error: &Error) -> String {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        return format!("its folder `{}` is not there", cwd.display());
    }
    let path = Path::new(command);
    match error.kind() {
        ErrorKind::NotFound if command.contains(' ') && !path.exists() => {
            "there is no such program; write what follows its name in `args`".to_owned()
        }
        ErrorKind::NotFound if !command.contains('/') => {
            let runtime = RUNTIMES.iter().find(|(_, commands)| commands.contains(&command));
            let hint = runtime.map(|(name, _)| format!("install {name}, or "));
            format!("it is not on the PATH; {}write its whole path", hint.unwrap_or_default())
        }
        ErrorKind::NotFound if path.exists() => {
            "the interpreter named in its first line is not there".to_owned()
        }
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied if path.is_dir() => "it is a folder".to_owned(),
        ErrorKind::PermissionDenied => "it may not be executed; try `chmod +x`".to_owned(),
        _ if error.raw_os_error() == Some(NO_PROGRAM) => {
            "it is no program; a script needs a first line such as `#!/bin/sh`".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_start_says_what_to_do() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            use std::os::unix::fs::PermissionsExt as _;
            let path = home.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path.display().to_string()
        };
        let check = |command: &str, cwd: Option<&str>, wanted: &str| {
            let mut process = std::process::Command::new(command);
            if let Some(cwd) = cwd {
                process.current_dir(cwd);
            }
            let error = process.spawn().unwrap_err();
            let config = Config { cwd: cwd.map(Into::into), ..Config::new(command) };
            let fault = cannot_start(&config, &error);
            assert_eq!(fault.message, format!("cannot start `{command}`: {wanted}"));
        };
        check("no-such-program", None, "it is not on the PATH; write its whole path");
        let words = "there is no such program; write what follows its name in `args`";
        check("npx -y server", None, words);
        check("sh", Some("/nowhere/at/all"), "its folder `/nowhere/at/all` is not there");
        check("/nowhere/server", None, "there is no such file");
        check(home.path().to_str().unwrap(), None, "it is a folder");
        let plain = file("plain", "#!/bin/sh\n", 0o644);
        check(&plain, None, "it may not be executed; try `chmod +x`");
        let lost = file("lost", "#!/nowhere/interpreter\n", 0o755);
        check(&lost, None, "the interpreter named in its first line is not there");
    }

    #[test]
    fn the_runtime_of_a_missing_launcher_is_named() {
        let check = |command: &str, runtime: &str| {
            let told = why(command, None, &ErrorKind::NotFound.into());
            assert!(told.contains(&format!("install {runtime}, or ")), "{told}");
        };
        check("npx", "Node.js");
        check("uvx", "uv");
        check("docker", "Docker");
    }
}
