-- `dispatched`: the upstream may have seen the call. `owner`: the process that makes it; a process
-- whose word is older than its lease has died, and what it left is judged by the state.
CREATE TABLE claims_owned (
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    args_hash  TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('claimed', 'dispatched', 'done', 'unknown')),
    owner      TEXT NOT NULL,
    answer     TEXT,
    claimed_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);

-- Nobody knows of an earlier `claimed` whether it was sent.
INSERT INTO claims_owned
    SELECT scope, key, args_hash, record_id,
           CASE state WHEN 'claimed' THEN 'dispatched' ELSE state END, '', answer, 0, expires_at
    FROM claims;
DROP TABLE claims;
ALTER TABLE claims_owned RENAME TO claims;
CREATE INDEX claims_by_state ON claims (state, expires_at);
CREATE INDEX claims_by_record ON claims (record_id);

CREATE TABLE instances (
    owner   TEXT NOT NULL PRIMARY KEY,
    seen_at BIGINT NOT NULL
);
