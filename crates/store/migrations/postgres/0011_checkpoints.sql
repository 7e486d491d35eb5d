-- Signed words about the chain. `checkpoint`: entry `seq` had this hash. `purge`: the same, and
-- everything up to and including it was removed for its age.
CREATE TABLE checkpoints (
    seq       BIGINT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('checkpoint', 'purge')),
    hash      TEXT NOT NULL,
    at        BIGINT NOT NULL,
    key_id    TEXT NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (kind, seq)
);

CREATE FUNCTION checkpoints_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'checkpoints are append-only';
END $$;

CREATE TRIGGER checkpoints_refuse_update BEFORE UPDATE ON checkpoints
    FOR EACH ROW EXECUTE FUNCTION checkpoints_refuse();

CREATE TRIGGER checkpoints_refuse_delete BEFORE DELETE ON checkpoints
    FOR EACH ROW EXECUTE FUNCTION checkpoints_refuse();

CREATE TRIGGER checkpoints_refuse_truncate BEFORE TRUNCATE ON checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION checkpoints_refuse();

-- Only what a purge has signed away may go.
CREATE FUNCTION entries_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.seq > (SELECT COALESCE(MAX(seq), 0) FROM checkpoints WHERE kind = 'purge') THEN
        RAISE EXCEPTION 'entries are append-only';
    END IF;
    RETURN OLD;
END $$;

DROP TRIGGER entries_refuse_delete ON entries;
CREATE TRIGGER entries_refuse_delete BEFORE DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_refuse_delete();
