//! The files that references to schemas lead to: `schema://NAME` to `schemas/NAME.json` beside the
//! manifest, a path to a file below its folder. Nothing outside these folders is read.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use catalog::limits::SCHEMA_BYTES_MAX;
use catalog::schema::Schema;
use manifest::{SchemaLook, SchemaRef};
use model::canonical;
use serde_json::Value;

/// The folder of schemas beside a manifest.
const FOLDER: &str = "schemas";

/// Where the schemas of one manifest lie. Each place is told by the path somebody wrote.
#[derive(Clone, Debug)]
pub(crate) struct Schemas {
    beside: Place,
    named: Place,
    /// Somebody said that the schemas are here, so it is looked at even if it is not there.
    stated: bool,
}

#[derive(Clone, Debug)]
struct Place {
    folder: PathBuf,
    shown: PathBuf,
}

impl Schemas {
    /// Those of the manifest at `path`, which is told by `shown`; in `stated`, if that is given.
    pub(crate) fn of(path: &Path, shown: &str, stated: Option<&Path>) -> Self {
        let parent = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
        let beside = Place { folder: parent(path), shown: parent(Path::new(shown)) };
        let named = match stated {
            Some(folder) => Place { folder: folder.to_owned(), shown: folder.to_owned() },
            None => Place { folder: beside.folder.join(FOLDER), shown: beside.shown.join(FOLDER) },
        };
        Self { beside, named, stated: stated.is_some() }
    }

    /// The file a reference leads to, whether it is there or not.
    pub(crate) fn file(&self, reference: &str) -> Option<PathBuf> {
        let (place, file) = self.place(&SchemaRef::read(reference)?)?;
        Some(place.folder.join(file))
    }

    /// Follows a reference. What is found and is no schema is an error, as is a way out of the folder.
    pub(crate) fn look(&self, reference: &str) -> Result<SchemaLook, String> {
        let Some(read) = SchemaRef::read(reference) else {
            return Err(format!(
                "`{reference}` leads out of its folder; name a file below it, as `schema://NAME` or \
                 by a relative path"
            ));
        };
        let Some((place, file)) = self.place(&read) else {
            return Ok(SchemaLook::Nowhere("only `schema://NAME` and paths are".to_owned()));
        };
        let shown = place.shown.join(&file).display().to_string();
        let path = place.folder.join(&file);
        if !path.exists() {
            let nowhere = matches!(read, SchemaRef::Named(_)) && !self.stated;
            return Ok(if nowhere && !place.folder.is_dir() {
                let folder = place.shown.display();
                SchemaLook::Nowhere(format!(
                    "there is no folder `{folder}`; make it, or name another with `--schemas`"
                ))
            } else {
                SchemaLook::Missing { file: shown }
            });
        }
        let hash = hash(place, &path).map_err(|why| format!("`{shown}` {why}"))?;
        Ok(SchemaLook::Found { file: shown, hash })
    }

    fn place(&self, reference: &SchemaRef) -> Option<(&Place, String)> {
        match reference {
            SchemaRef::Named(file) => Some((&self.named, file.clone())),
            SchemaRef::File(file) => Some((&self.beside, file.clone())),
            SchemaRef::Elsewhere => None,
        }
    }
}

/// The hash of the schema in a file of this folder.
fn hash(place: &Place, path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let bare = if place.folder.as_os_str().is_empty() { Path::new(".") } else { &place.folder };
    let folder = bare.canonicalize().map_err(unreadable)?;
    let real = path.canonicalize().map_err(unreadable)?;
    if !real.starts_with(folder) {
        return Err("is a link that leads out of its folder; put the file itself there".to_owned());
    }
    if !real.is_file() {
        return Err("is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let bound = u64::try_from(SCHEMA_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    File::open(&real)
        .and_then(|file| file.take(bound).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() > SCHEMA_BYTES_MAX {
        return Err(format!("is longer than {SCHEMA_BYTES_MAX} bytes"));
    }
    let schema: Value =
        serde_json::from_slice(&bytes).map_err(|error| format!("is not JSON: {error}"))?;
    if !schema.is_object() {
        return Err("is no schema: that is a JSON object".to_owned());
    }
    Schema::judge(&schema, bytes.len()).map_err(|error| format!("is no schema: {error}"))?;
    Ok(canonical::hash(&schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(folder: &Path, reference: &str, stated: Option<&Path>) -> Result<SchemaLook, String> {
        Schemas::of(&folder.join("crm.yaml"), "crm.yaml", stated).look(reference)
    }

    /// CO-80, CO-81: what a reference leads to, and what is no schema.
    #[test]
    fn a_reference_leads_to_a_schema_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let nowhere = look(folder, "schema://find", None).unwrap();
        assert!(matches!(&nowhere, SchemaLook::Nowhere(why) if why.contains("`schemas`")));
        std::fs::create_dir(folder.join("schemas")).unwrap();
        let missing = SchemaLook::Missing { file: "schemas/find.json".to_owned() };
        assert_eq!(look(folder, "schema://find", None), Ok(missing));
        let write = |text: &str| std::fs::write(folder.join("schemas/find.json"), text).unwrap();
        let check = |text: &str, expected: &str| {
            write(text);
            let told = match look(folder, "schema://find", None) {
                Ok(SchemaLook::Found { hash, .. }) => hash,
                other => format!("{other:?}"),
            };
            assert!(told.contains(expected), "{told}");
        };
        let schema = serde_json::json!({"type": "object"});
        check(r#"{ "type" : "object" }"#, &canonical::hash(&schema));
        check("[]", "`schemas/find.json` is no schema");
        check(r#"{"type": "nonsense"}"#, "`schemas/find.json` is no schema");
        check("{", "`schemas/find.json` is not JSON");
        check(&format!("{{\"$comment\": \"{}\"}}", "x".repeat(SCHEMA_BYTES_MAX)), "is longer than");
        write("{}");
        let by_path = look(folder, "schemas/find.json", None).unwrap();
        assert!(matches!(by_path, SchemaLook::Found { .. }));
        let other = folder.join("other");
        let stated = look(folder, "schema://find", Some(&other)).unwrap();
        assert!(matches!(stated, SchemaLook::Missing { .. }));
        assert!(look(folder, "schema://../crm", None).unwrap_err().contains("out of its folder"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_lead_out_of_the_folder() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = outside.path().join("secret.json");
        std::fs::write(&secret, "{}").unwrap();
        let schemas = folder.path().join("schemas");
        std::fs::create_dir(&schemas).unwrap();
        std::os::unix::fs::symlink(&secret, schemas.join("find.json")).unwrap();
        let refused = look(folder.path(), "schema://find", None).unwrap_err();
        assert!(refused.contains("leads out of its folder"), "{refused}");
    }
}
