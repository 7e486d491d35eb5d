-- The history of all calls: one row when a call opens, one when it closes, chained by hash.
-- `body` is the truth; the other columns repeat parts of it for searching.
CREATE TABLE entries (
    seq       INTEGER PRIMARY KEY,
    record_id TEXT NOT NULL,
    call_id   TEXT NOT NULL,
    phase     TEXT NOT NULL CHECK (phase IN ('open', 'close')),
    at        BIGINT NOT NULL,
    tool      TEXT NOT NULL,
    status    TEXT NOT NULL,
    principal TEXT NOT NULL,
    run_id    TEXT NOT NULL,
    body      TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash      TEXT NOT NULL
);

CREATE INDEX entries_by_record ON entries (record_id, seq);
CREATE INDEX entries_by_call ON entries (call_id);
CREATE INDEX entries_by_run ON entries (run_id, seq);

CREATE TRIGGER entries_refuse_update BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'entries are append-only');
END;

CREATE TRIGGER entries_refuse_delete BEFORE DELETE ON entries
BEGIN
    SELECT RAISE(ABORT, 'entries are append-only');
END;

-- REPLACE would remove a row without firing the trigger above.
CREATE TRIGGER entries_refuse_gap BEFORE INSERT ON entries
WHEN NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM entries)
BEGIN
    SELECT RAISE(ABORT, 'entries are append-only');
END;
