//! Torn writes: wherever the log is cut, what was committed before the cut is whole.

use std::fs;

use toolgate_store::{Config, Store, Witnesses};

use crate::home::{Home, closing, completed, opening, record};

/// SQLite's log: a header, then frames of a page each with a header of their own.
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The header says how long a page is.
fn frame(log: &[u8]) -> usize {
    let page = log.iter().skip(8).take(4).fold(0, |sum, byte| sum * 256 + usize::from(*byte));
    assert!(page.is_power_of_two() && page >= 512, "{page}");
    FRAME_HEADER + page
}

#[tokio::test]
async fn a_log_torn_anywhere_leaves_a_sound_chain() {
    let home = Home::in_folder();
    let store = home.open().await;
    for number in 0..4 {
        store.open_record(opening(record(&number.to_string()))).await.unwrap();
        store.close_record(&closing(completed(&number.to_string()))).await.unwrap();
        // Whoever reads has the database take what only the journal has.
        assert_eq!(store.verify_chain().await.unwrap().damage, None);
    }
    let log = fs::read(home.dir().join("toolgate.db-wal")).unwrap();
    let database = fs::read(home.database()).unwrap();
    let whole = frame(&log);
    let frames = (log.len() - HEADER) / whole;
    assert_eq!((log.len() - HEADER) % whole, 0);
    assert!(frames > 8, "{frames}");
    let mut last = 0;
    // The schema was folded in when the log began; every frame since is cut, each at another byte.
    for cut in (0..frames).map(|frame| (frame, [0, 17, FRAME_HEADER + 2048][frame % 3])) {
        let copy = tempfile::tempdir().unwrap();
        let dir = copy.path().join("data");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("toolgate.db"), &database).unwrap();
        let (frame, in_frame) = cut;
        fs::write(dir.join("toolgate.db-wal"), &log[..HEADER + frame * whole + in_frame]).unwrap();
        // Before the first commit there is no schema yet: then the folder is a new one.
        let torn = Store::open(&Config::folder(dir), home.clock.clone()).await.unwrap();
        let report = torn.verify_against(&Witnesses::default()).await.unwrap();
        assert_eq!(report.damage, None, "{cut:?}");
        assert!(report.entries >= last, "{cut:?}: {} after {last}", report.entries);
        last = report.entries;
        torn.close_record(&closing(completed("after"))).await.unwrap();
        assert_eq!(torn.verify_chain().await.unwrap().damage, None, "{cut:?}");
        torn.close().await;
    }
    assert!(last >= 6, "{last}");
}
