-- What clients were asked in the middle of a call, so that any gate of several can go on with it.
CREATE TABLE rounds (
    round_id   TEXT NOT NULL PRIMARY KEY,
    principal  TEXT NOT NULL,
    bound_to   TEXT NOT NULL,
    body       TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX rounds_by_time ON rounds (expires_at);
