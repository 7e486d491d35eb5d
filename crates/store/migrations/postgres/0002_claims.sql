-- One row for each idempotency key in use. `claimed`: being made; `done`: answered; `unknown`: cut
-- off, so that only a person can say whether it took effect.
CREATE TABLE claims (
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    args_hash  TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('claimed', 'done', 'unknown')),
    answer     TEXT,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);

CREATE INDEX claims_by_state ON claims (state, expires_at);
