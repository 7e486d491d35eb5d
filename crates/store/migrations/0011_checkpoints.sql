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

CREATE TRIGGER checkpoints_refuse_update BEFORE UPDATE ON checkpoints
BEGIN
    SELECT RAISE(ABORT, 'checkpoints are append-only');
END;

CREATE TRIGGER checkpoints_refuse_delete BEFORE DELETE ON checkpoints
BEGIN
    SELECT RAISE(ABORT, 'checkpoints are append-only');
END;

-- Only what a purge has signed away may go.
DROP TRIGGER entries_refuse_delete;
CREATE TRIGGER entries_refuse_delete BEFORE DELETE ON entries
WHEN OLD.seq > (SELECT COALESCE(MAX(seq), 0) FROM checkpoints WHERE kind = 'purge')
BEGIN
    SELECT RAISE(ABORT, 'entries are append-only');
END;
