-- `dispatched`: the upstream may have seen the call. `owner`: the process that makes it; a process
-- whose word is older than its lease has died, and what it left is judged by the state.
ALTER TABLE claims DROP CONSTRAINT claims_state_check;
-- Nobody knows of an earlier `claimed` whether it was sent.
UPDATE claims SET state = 'dispatched' WHERE state = 'claimed';
ALTER TABLE claims
    ALTER COLUMN record_id TYPE TEXT COLLATE "C",
    ADD CONSTRAINT claims_state_check CHECK (state IN ('claimed', 'dispatched', 'done', 'unknown')),
    ADD COLUMN owner TEXT NOT NULL DEFAULT '',
    ADD COLUMN claimed_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX claims_by_record ON claims (record_id);

CREATE TABLE instances (
    owner   TEXT NOT NULL PRIMARY KEY,
    seen_at BIGINT NOT NULL
);
