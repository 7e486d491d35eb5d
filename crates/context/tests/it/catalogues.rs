//! Texts of real servers pass unchanged: the cleaner must not cost an honest upstream a letter.

use std::fs;

use serde_json::Value;
use toolgate_context::{Profile, Redactor, menu};

use crate::shared::shared;

/// Every JSON file of the shared catalogues.
pub(crate) fn catalogues() -> Option<Vec<(String, Value)>> {
    let folder = shared("catalogs")?;
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let json = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json"));
    let read = |path: std::path::PathBuf| {
        (path.display().to_string(), serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    };
    Some(json.map(read).collect())
}

/// Calls `see` with every string and key.
pub(crate) fn each_text(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(fields) => {
            for (key, value) in fields {
                see(key);
                each_text(value, see);
            }
        }
        _ => {}
    }
}

/// A1, A6: no false alarm on definitions written in good faith.
#[test]
fn benign_catalogue_texts_are_unchanged() {
    let Some(catalogues) = catalogues() else { return };
    let mut texts = 0;
    for (file, catalogue) in catalogues {
        each_text(&catalogue, &mut |text| {
            texts += 1;
            assert_eq!(Profile::Strict.clean(text), text, "{file}");
        });
        let listed = menu(vec![catalogue.clone()], &Redactor::default());
        assert_eq!(listed.into_inner(), [catalogue], "{file}");
    }
    assert!(texts > 10_000, "only {texts} texts");
}
