//! Programs that a file found in the current folder would start: shown word for word, and started
//! only once a person has agreed. A folder may come from anywhere, with any file in it.
//!
//! Whoever names a file with `--config` has agreed to what it says; then the log alone shows it. What
//! was agreed to is kept with the person's own files, never where the folder's file points.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::print::{self, plain};
use crate::assemble::programs::{Program, programs};
use crate::config::Loaded;

/// Lets pass what may be started, or says what nobody agreed to.
pub(super) fn agree(context: &Context, loaded: &Loaded) -> Result<(), CliError> {
    let Some(file) = &loaded.file else { return Ok(()) };
    let all = programs(&loaded.config, file);
    for Program { upstream, line, .. } in &all {
        tracing::info!(upstream.name = upstream.as_str(), command = line, "may start a program");
    }
    if all.is_empty() || context.globals().config.is_some() {
        return Ok(());
    }
    let place = place();
    let mut agreed = place.as_ref().map(read).unwrap_or_default();
    let new: Vec<Program> =
        all.into_iter().filter(|program| !agreed.contains_key(&program.hash)).collect();
    if new.is_empty() {
        return Ok(());
    }
    let shown = format!("`{}` of this folder", file.display());
    if !context.globals().yes {
        show(&shown, &new);
        ask(&shown)?;
    }
    agreed.extend(new.into_iter().map(|program| (program.hash, program.line)));
    match place {
        Some(place) => keep(&place, &agreed),
        None => context.out.note("there is no home folder to remember in what you agreed to"),
    }
    Ok(())
}

fn show(shown: &str, new: &[Program]) {
    let mut text = format!("{shown} starts what nobody agreed to yet:\n");
    for Program { upstream, line, folder, variables, warning, .. } in new {
        let mut tell = |line: &str| text.extend([&plain(line), "\n"]);
        tell(&format!("  {upstream}: $ {line}"));
        if let Some(folder) = folder {
            tell(&format!("      in the folder {folder}"));
        }
        if !variables.is_empty() {
            tell(&format!("      with the variables {}", variables.join(", ")));
        }
        if let Some(warning) = warning {
            tell(&format!("      {warning}"));
        }
    }
    print::stderr(&text);
}

/// Nothing but a clear yes is one.
fn ask(shown: &str) -> Result<(), CliError> {
    let refused = |message: &str| {
        CliError::new(Exit::Refused, format!("nothing was started: {message}")).hint(
            "say yes in a terminal, pass --yes, or name the file with --config: each agrees to the words above",
        )
    };
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(refused(&format!("nobody can be asked about {shown}")));
    }
    print::stderr("Start this, now and later? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(refused("you did not agree")),
    }
}

fn place() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("toolgate").join("agreed.json"))
}

/// What was agreed to, by hash. A file that cannot be read agrees to nothing.
fn read(place: &PathBuf) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(place).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Not remembered, it is asked again.
fn keep(place: &PathBuf, agreed: &BTreeMap<String, String>) {
    let written = || {
        let folder = place.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(place, serde_json::to_vec_pretty(agreed)?))
    };
    if let Err(error) = written() {
        tracing::warn!(%error, "what was agreed to is not remembered");
    }
}
