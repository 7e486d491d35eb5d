//! Stored bytes: found by their principal, unaltered, under no path a caller chose.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use model::{ArtifactKind, CallId, Class, Code, Handle};
use toolgate_store::{NewArtifact, Reader};

use crate::home::{Home, START};

pub(crate) fn artifact(handle: &str, call: &str, bytes: &'static [u8]) -> NewArtifact {
    NewArtifact {
        handle: Handle::from_string(handle),
        alias: None,
        principal: "user:alice".to_owned(),
        session: None,
        call_id: CallId::from_string(call),
        kind: ArtifactKind::Blob,
        media_type: "image/png".to_owned(),
        label: "a picture".to_owned(),
        class: Class::Confidential,
        cited: false,
        bytes: Bytes::from_static(bytes),
    }
}

pub(crate) const ALICE: Reader<'_> = Reader { principal: "user:alice", session: None };
const BOB: Reader<'_> = Reader { principal: "user:bob", session: None };

pub(crate) fn files(home: &Home) -> Vec<PathBuf> {
    let folders = fs::read_dir(home.dir().join("artifacts")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// CW-20: the stored bytes are the decoded bytes, and the media type is kept (CW-21).
#[tokio::test]
async fn bytes_come_back_as_they_were() {
    let home = Home::new();
    let store = home.open().await;
    let kept = store.put_artifact(artifact("art_1", "call_1", b"\x89PNG\0")).await.unwrap();
    assert_eq!((kept.size_bytes, kept.created_at), (5, START));
    assert_eq!((kept.media_type.as_str(), kept.class), ("image/png", Class::Confidential));
    store.close().await;
    let found = home.open().await.artifact("art_1", ALICE).await.unwrap();
    assert_eq!(found, Some((kept, Bytes::from_static(b"\x89PNG\0"))));
}

#[tokio::test]
async fn a_foreign_handle_is_as_good_as_unknown() {
    let home = Home::new();
    let store = home.open().await;
    store.put_artifact(artifact("art_1", "call_1", b"secret")).await.unwrap();
    assert_eq!(store.artifact("art_1", BOB).await, Ok(None));
    assert_eq!(store.artifact("art_2", BOB).await, Ok(None));
    assert_eq!(store.artifact("call_1/art_1", BOB).await, Ok(None));
    let mine =
        NewArtifact { principal: "user:bob".to_owned(), ..artifact("art_1", "call_2", b"b") };
    store.put_artifact(mine).await.unwrap();
    let (_, bytes) = store.artifact("art_1", ALICE).await.unwrap().unwrap();
    assert_eq!(bytes, "secret");
}

/// C28 and CW-25: the seed's handle means the call it is qualified with, or the newest of the
/// session.
#[tokio::test]
async fn an_alias_means_its_own_call_and_unqualified_the_newest_of_the_session() {
    let home = Home::new();
    let store = home.open().await;
    let alias = "mcp:query:structured_content";
    let put = async |handle: &str, call: &str, session: &str, bytes: &'static [u8]| {
        let alias = Some(Handle::from_string(alias));
        let session = Some(session.to_owned());
        let new = NewArtifact { alias, session, ..artifact(handle, call, bytes) };
        store.put_artifact(new).await.unwrap();
    };
    put("art_1", "call_1", "s1", b"old").await;
    put("art_2", "call_2", "s1", b"new").await;
    put("art_3", "call_3", "s2", b"elsewhere").await;
    let check = async |handle: &str, session: Option<&str>, expected: Option<&str>| {
        let reader = Reader { session, ..ALICE };
        let found = store.artifact(handle, reader).await.unwrap();
        assert_eq!(found.map(|(_, bytes)| bytes), expected.map(|text| text.to_owned().into()));
        let foreign = Reader { session, ..BOB };
        assert_eq!(store.artifact(handle, foreign).await, Ok(None), "{handle}");
    };
    check(alias, Some("s1"), Some("new")).await;
    check(alias, Some("s2"), Some("elsewhere")).await;
    check(alias, Some("s3"), None).await;
    check(alias, None, None).await;
    check("call_1/mcp:query:structured_content", Some("s1"), Some("old")).await;
    check("call_2/mcp:query:structured_content", None, Some("new")).await;
    check("call_4/mcp:query:structured_content", Some("s1"), None).await;
    check("art_1", Some("s2"), Some("old")).await;
    check("", None, None).await;
}

#[tokio::test]
async fn equal_bytes_are_kept_once_under_their_hash() {
    let home = Home::new();
    let store = home.open().await;
    let first = store.put_artifact(artifact("art_1", "call_1", b"abc")).await.unwrap();
    store.put_artifact(artifact("../../etc/passwd", "../call", b"abc")).await.unwrap();
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(first.artifact_id.as_str(), hash);
    assert_eq!(files(&home), [home.dir().join("artifacts").join("ba").join(hash)]);
    assert!(store.artifact("../../etc/passwd", ALICE).await.unwrap().is_some());
}

#[tokio::test]
async fn damaged_bytes_are_never_handed_out_and_heal_when_stored_again() {
    let home = Home::new();
    let store = home.open().await;
    store.put_artifact(artifact("art_1", "call_1", b"abc")).await.unwrap();
    fs::write(&files(&home)[0], "abd").unwrap();
    let fault = store.artifact("art_1", ALICE).await.unwrap_err();
    assert_eq!(fault.code, Code::Internal);
    assert!(fault.log.unwrap().contains("is damaged"));
    store.put_artifact(artifact("art_2", "call_2", b"abc")).await.unwrap();
    assert!(store.artifact("art_1", ALICE).await.unwrap().is_some());
    fs::remove_file(&files(&home)[0]).unwrap();
    assert_eq!(store.artifact("art_1", ALICE).await.unwrap_err().code, Code::Internal);
}

#[tokio::test]
async fn no_bytes_are_an_artifact_too() {
    let home = Home::new();
    let store = home.open().await;
    store.put_artifact(artifact("art_0", "call_1", b"")).await.unwrap();
    let (kept, bytes) = store.artifact("art_0", ALICE).await.unwrap().unwrap();
    assert_eq!((kept.size_bytes, bytes.len()), (0, 0));
}
