-- The history of all calls: one row when a call opens, one when it closes, chained by hash.
-- `body` is the truth; the other columns repeat parts of it for searching.
CREATE TABLE entries (
    seq       BIGINT PRIMARY KEY,
    record_id TEXT COLLATE "C" NOT NULL,
    call_id   TEXT COLLATE "C" NOT NULL,
    phase     TEXT NOT NULL CHECK (phase IN ('open', 'close')),
    at        BIGINT NOT NULL,
    tool      TEXT NOT NULL,
    status    TEXT NOT NULL,
    principal TEXT NOT NULL,
    run_id    TEXT COLLATE "C" NOT NULL,
    body      TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash      TEXT NOT NULL
);

CREATE INDEX entries_by_record ON entries (record_id, seq);
CREATE INDEX entries_by_call ON entries (call_id);
CREATE INDEX entries_by_run ON entries (run_id, seq);

CREATE FUNCTION entries_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are append-only';
END $$;

CREATE TRIGGER entries_refuse_update BEFORE UPDATE ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_refuse();

CREATE TRIGGER entries_refuse_delete BEFORE DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_refuse();

CREATE TRIGGER entries_refuse_truncate BEFORE TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION entries_refuse();

CREATE FUNCTION entries_refuse_gap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM entries) THEN
        RAISE EXCEPTION 'entries are append-only';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER entries_refuse_gap BEFORE INSERT ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_refuse_gap();
