//! The words of `@obligations`. One that nobody sees to would ask for nothing in silence, so a policy
//! with such a word is not taken.

/// What is seen to: a word, or a word with something behind its colon.
const KNOWN: [(&str, Rest); 5] = [
    ("idempotency_key", Rest::None),
    ("delegation", Rest::None),
    ("evidence", Rest::May("KEY")),
    ("scope", Rest::Must("NAME")),
    // Only kept in the record, and meant so.
    ("note", Rest::Must("TEXT")),
];

/// What stands behind the colon.
#[derive(Clone, Copy, Debug)]
enum Rest {
    None,
    May(&'static str),
    Must(&'static str),
}

/// How like a known word must be to be named in place of an unknown one.
const LIKENESS_MIN: f64 = 0.8;

/// The obligations that an annotation names, with commas between.
pub(crate) fn words(annotation: &str) -> impl Iterator<Item = &str> {
    annotation.split(',').map(str::trim).filter(|word| !word.is_empty())
}

pub(crate) fn is_known(word: &str) -> bool {
    let (head, rest) = parts(word);
    let known = KNOWN.into_iter().find(|(known, _)| *known == head);
    known.is_some_and(|(_, wanted)| match (wanted, rest) {
        (Rest::None | Rest::May(_), None) => true,
        (Rest::May(_) | Rest::Must(_), Some(rest)) => !rest.trim().is_empty(),
        (Rest::None, Some(_)) | (Rest::Must(_), None) => false,
    })
}

/// What to write in place of a word that is not known.
pub(crate) fn instead_of(word: &str) -> String {
    let (head, rest) = parts(word);
    let rated = KNOWN.into_iter().map(|known| (strsim::jaro_winkler(head, known.0), known));
    let near = rated.max_by(|one, other| one.0.total_cmp(&other.0));
    match near {
        Some((likeness, (known, wanted))) if likeness >= LIKENESS_MIN => match (wanted, rest) {
            (Rest::Must(rest), _) | (Rest::May(rest), Some(_)) => {
                format!("did you mean `{known}:{rest}`?")
            }
            (Rest::None, _) | (Rest::May(_), None) => format!("did you mean `{known}`?"),
        },
        _ => {
            let known = KNOWN.map(|(known, _)| known).join(", ");
            format!("the obligations are {known}; `note:{word}` is kept and asks for nothing")
        }
    }
}

fn parts(word: &str) -> (&str, Option<&str>) {
    word.split_once(':').map_or((word, None), |(head, rest)| (head, Some(rest)))
}
