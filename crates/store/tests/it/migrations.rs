//! Two databases, one history of changes.

use std::collections::BTreeSet;
use std::path::Path;

fn names(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    files
        .map(|name| name.into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "sql"))
        .collect()
}

#[test]
fn every_migration_is_there_for_both_databases() {
    assert_eq!(names("migrations"), names("migrations/postgres"));
}

/// The same tests run on PostgreSQL when there is one; without, somebody must hear of it.
#[test]
fn what_is_left_out_is_said() {
    if std::env::var_os("TOOLGATE_TEST_POSTGRES").is_none() {
        eprintln!("LEFT OUT: no PostgreSQL in TOOLGATE_TEST_POSTGRES; `./test` starts one");
    }
}
