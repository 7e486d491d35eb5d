//! The state file: what was done is there after a restart, and what was not saved was not done.

use std::fs;
use std::path::Path;

use super::*;
use crate::demo::DemoError;

fn open(path: &Path) -> World {
    World::kept_at(Some(path.to_owned()))
}

#[tokio::test]
async fn state_survives_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.json");
    let refund = open(&path).good("payments_issue_refund", refund_args()).await;
    let world = open(&path);
    assert_eq!(world.good("payments_issue_refund", refund_args()).await, refund);
    let write = json!({"path": "/kept.md", "text": "kept", "idempotency_key": "once-0001"});
    let first = world.good("files_write_document", write.clone()).await;
    assert_eq!(open(&path).good("files_write_document", write).await, first);
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["demo.json"], "no temporary file stays behind");
}

#[tokio::test]
async fn reading_alone_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.json");
    open(&path).good("payments_check_balance", json!({})).await;
    open(&path).refused("tickets_delete_ticket", json!({"ticket_id": "tkt_9"})).await;
    assert!(!path.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.json");
    open(&path).good("payments_issue_refund", refund_args()).await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_change_that_cannot_be_saved_did_not_happen() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let world = open(&home.join("demo.json"));
    fs::remove_dir(&home).unwrap();
    let fault = world.ask("payments_issue_refund", refund_args()).await.unwrap_err();
    assert_eq!(fault.code, model::Code::UpstreamUnavailable);
    assert!(fault.message.contains("nothing was changed"), "{fault}");
    assert!(fault.log.unwrap().contains("demo.json"));
    assert_eq!(world.good("payments_list_refunds", json!({})).await["total"], 0);
    fs::create_dir(&home).unwrap();
    world.good("payments_issue_refund", refund_args()).await;
}

#[test]
fn a_spoilt_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.json");
    let check = |content: &str, expected: &str| {
        fs::write(&path, content).unwrap();
        let error = Demo::new(Clock::System, Some(path.clone())).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()) && error.contains(expected), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content, "the file is left as it was");
    };
    check("{", "not valid state");
    check(r#"{"version": 1}"#, "not valid state");
    check(r#"{"version": 2, "planets": []}"#, "has version 2");
}

#[test]
fn a_folder_in_place_of_the_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Demo::new(Clock::System, Some(folder.path().to_owned())).unwrap_err();
    assert!(matches!(error, DemoError::Unreadable { .. }));
}
