//! Opening a data folder: permissions, foreign files, versions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use toolgate_store::OpenError;

use crate::home::{Home, closing, completed};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn only_the_owner_can_read_a_new_folder() {
    let home = Home::in_folder();
    let store = home.open().await;
    store.close_record(&closing(completed("1"))).await.unwrap();
    assert_eq!(mode(&home.dir()), 0o700);
    assert_eq!(mode(&home.dir().join("artifacts")), 0o700);
    assert_eq!(mode(&home.database()), 0o600);
    assert_eq!(mode(&home.dir().join("toolgate.db-wal")), 0o600);
}

#[tokio::test]
async fn our_own_folder_is_tightened() {
    let home = Home::in_folder();
    home.open().await.close().await;
    chmod(&home.dir(), 0o755);
    chmod(&home.dir().join("artifacts"), 0o777);
    chmod(&home.database(), 0o644);
    home.open().await;
    assert_eq!(mode(&home.dir()), 0o700);
    assert_eq!(mode(&home.dir().join("artifacts")), 0o700);
    assert_eq!(mode(&home.database()), 0o600);
}

#[tokio::test]
async fn an_empty_folder_is_tightened() {
    let home = Home::in_folder();
    fs::create_dir(home.dir()).unwrap();
    chmod(&home.dir(), 0o755);
    home.open().await;
    assert_eq!(mode(&home.dir()), 0o700);
}

/// `--data /etc` must not close the machine's configuration to everybody.
#[tokio::test]
async fn a_shared_folder_with_other_files_is_left_alone() {
    let home = Home::in_folder();
    fs::create_dir(home.dir()).unwrap();
    fs::write(home.dir().join("passwd"), "").unwrap();
    chmod(&home.dir(), 0o755);
    let error = home.try_open().await.unwrap_err().to_string();
    assert!(error.contains("is open to other users") && error.contains("--data"), "{error}");
    assert_eq!(mode(&home.dir()), 0o755);
    chmod(&home.dir(), 0o700);
    home.open().await;
}

#[tokio::test]
async fn a_file_is_no_folder() {
    let home = Home::in_folder();
    fs::write(home.dir(), "").unwrap();
    let error = home.try_open().await.unwrap_err().to_string();
    assert!(error.ends_with("data` is not a folder; choose another with --data"), "{error}");
}

#[tokio::test]
async fn a_folder_below_a_file_cannot_be_created() {
    let home = Home::in_folder();
    fs::write(home.dir(), "").unwrap();
    let config = toolgate_store::Config::folder(home.dir().join("below"));
    let error =
        toolgate_store::Store::open(&config, home.clock.clone()).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot create data folder `"), "{error}");
    assert!(error.ends_with("below`: not a directory; choose another with --data"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_and_kept() {
    let home = Home::in_folder();
    fs::create_dir(home.dir()).unwrap();
    let letter = "dear diary, ".repeat(200);
    fs::write(home.database(), &letter).unwrap();
    let error = home.try_open().await.unwrap_err();
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("toolgate.db` is damaged or no database"), "{error}");
    assert_eq!(fs::read_to_string(home.database()).unwrap(), letter);
}

#[tokio::test]
async fn a_database_of_another_program_is_named_and_kept() {
    let home = Home::in_folder();
    fs::create_dir(home.dir()).unwrap();
    let mut raw = home.raw().await;
    sqlx::query("CREATE TABLE songs (title TEXT)").execute(&mut raw).await.unwrap();
    drop(raw);
    let before = fs::read(home.database()).unwrap();
    let error = home.try_open().await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("is not a database of this Toolgate"), "{error}");
    assert_eq!(fs::read(home.database()).unwrap(), before);
}

#[tokio::test]
async fn a_newer_database_asks_for_an_upgrade() {
    let home = Home::in_folder();
    home.open().await.close().await;
    let newer = "INSERT INTO _sqlx_migrations VALUES (9000, 'later', '', TRUE, x'00', 0)";
    sqlx::query(newer).execute(&mut home.raw().await).await.unwrap();
    let error = home.try_open().await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 9000, .. }), "{error}");
    assert!(error.to_string().ends_with("upgrade Toolgate"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_open_a_new_folder_at_once() {
    let home = std::sync::Arc::new(Home::in_folder());
    let opening = (0..8).map(|number| {
        let home = std::sync::Arc::clone(&home);
        tokio::spawn(async move {
            let store = home.open().await;
            store.close_record(&closing(completed(&number.to_string()))).await.unwrap();
        })
    });
    for opened in opening.collect::<Vec<_>>() {
        opened.await.unwrap();
    }
    let report = home.open().await.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.first_bad), (8, None));
}
