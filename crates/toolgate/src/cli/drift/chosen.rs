//! Which of all that differs is meant by the names that were given: by its own name, as
//! `UPSTREAM/NAME`, or by any name the catalogue gives it.

use std::collections::{BTreeMap, BTreeSet};

use catalog::Catalogue;
use catalog::drift::Name;
use model::fault::one_line;
use model::{ItemKind, UpstreamName};

use super::Drifts;
use super::told::{escaped, label};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;

pub(super) type Chosen = BTreeMap<UpstreamName, Vec<Name>>;

pub(super) fn all(drifts: &Drifts) -> Chosen {
    let each = drifts.iter().map(|(upstream, (_, drifts))| {
        (upstream.clone(), drifts.keys().cloned().collect::<Vec<_>>())
    });
    each.filter(|(_, names)| !names.is_empty()).collect()
}

/// What each of the names means; all of them must mean exactly one thing.
pub(super) fn named(
    drifts: &Drifts,
    catalogue: &Catalogue,
    names: &[String],
) -> Result<Chosen, CliError> {
    let mut chosen: BTreeMap<UpstreamName, BTreeSet<Name>> = BTreeMap::new();
    for given in names {
        let meant = meant(drifts, catalogue, given);
        let mut labels = meant.iter().map(|(upstream, name)| label(upstream, name));
        let shown = escaped(&one_line(given, 200));
        match (meant.len(), labels.next()) {
            (1, _) => {}
            (_, None) => {
                let message =
                    format!("nothing that differs is called `{shown}`; nothing is accepted");
                return Err(CliError::new(Exit::Failure, message)
                    .hint("`toolgate tools diff` shows what differs"));
            }
            (_, Some(first)) => {
                let both: Vec<String> = std::iter::once(first).chain(labels).collect();
                let both = escaped(&both.join("`, `"));
                let message = format!("`{shown}` may be `{both}`; nothing is accepted");
                return Err(CliError::usage(message).hint("say which, in these words"));
            }
        }
        for (upstream, name) in meant {
            chosen.entry(upstream).or_default().insert(name);
        }
    }
    Ok(chosen
        .into_iter()
        .map(|(upstream, names)| (upstream, names.into_iter().collect()))
        .collect())
}

fn meant(drifts: &Drifts, catalogue: &Catalogue, given: &str) -> BTreeSet<(UpstreamName, Name)> {
    let known = catalogue.resolve(given).map(|tool| &tool.item.key);
    let mut meant = BTreeSet::new();
    for (upstream, (_, drifts)) in drifts {
        for name in drifts.keys() {
            let (kind, own) = name;
            let written = given == own
                || given == format!("{upstream}/{own}")
                || given == label(upstream, name);
            let rendered = *kind == ItemKind::Tool
                && known.is_some_and(|key| key.upstream == *upstream && key.name == *own);
            if written || rendered {
                meant.insert((upstream.clone(), name.clone()));
            }
        }
    }
    meant
}
