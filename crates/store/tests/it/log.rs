//! The log that SQLite writes before its file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use model::{Answer, Record};

use crate::home::{Home, closing, completed};

/// Written anew each time the log begins from its start.
fn beginning(database: &Path) -> [u8; 32] {
    let mut head = [0; 32];
    File::open(database.with_extension("db-wal")).unwrap().read_exact(&mut head).unwrap();
    head
}

/// While a gate writes without a pause, the log does not grow for ever, and SQLite, which would
/// keep everybody waiting for it, is not what shortens it: it would at twice as many bytes.
#[tokio::test]
async fn the_log_is_folded_in_while_writing_goes_on() {
    const EACH: usize = 400_000;
    const BYTES_MAX: usize = 56_000_000;
    let home = Home::in_folder();
    let store = home.open().await;
    let answer = Some(Answer::text("x".repeat(EACH)));
    let large = |id: usize| Record { answer: answer.clone(), ..completed(&id.to_string()) };
    store.close_record(&closing(large(0))).await.unwrap();
    let first = beginning(&home.database());
    for id in 1..BYTES_MAX / EACH {
        store.close_record(&closing(large(id))).await.unwrap();
        if beginning(&home.database()) != first {
            let report = store.verify_chain().await.unwrap();
            assert_eq!(
                (usize::try_from(report.entries).unwrap(), report.first_bad),
                (id + 1, None)
            );
            return;
        }
    }
    panic!("the log never began anew");
}
