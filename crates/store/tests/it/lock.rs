//! One gateway to a folder.

use std::os::unix::fs::PermissionsExt;

use toolgate_store::{InstanceLock, LockError};

use crate::home::Home;

#[test]
fn the_second_gateway_learns_who_holds_the_folder() {
    let home = Home::new();
    let _lock = InstanceLock::take(&home.dir(), "http://127.0.0.1:4444").unwrap();
    let error = InstanceLock::take(&home.dir(), "http://127.0.0.1:5555").unwrap_err();
    let LockError::Held { holder } = &error else { panic!("{error}") };
    assert_eq!(*holder, format!("pid {}, http://127.0.0.1:4444", std::process::id()));
    assert!(error.to_string().contains("--data"));
}

#[test]
fn a_dropped_lock_is_free_and_forgets_its_note() {
    let home = Home::new();
    drop(InstanceLock::take(&home.dir(), "a long note of the first gateway").unwrap());
    let _lock = InstanceLock::take(&home.dir(), "short").unwrap();
    let LockError::Held { holder } = InstanceLock::take(&home.dir(), "").unwrap_err() else {
        panic!("not held")
    };
    assert!(holder.ends_with(", short"), "{holder}");
}

#[test]
fn the_lock_makes_a_private_folder() {
    let home = Home::new();
    let _lock = InstanceLock::take(&home.dir(), "").unwrap();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.dir()), 0o700);
    assert_eq!(mode(home.dir().join("lock")), 0o600);
}

#[tokio::test]
async fn readers_need_no_lock() {
    let home = Home::new();
    let _lock = InstanceLock::take(&home.dir(), "").unwrap();
    let _gateway = home.open().await;
    assert!(
        home.open()
            .await
            .records(&toolgate_store::RecordFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
}
