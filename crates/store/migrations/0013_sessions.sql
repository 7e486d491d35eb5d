-- Clients that have introduced themselves, so that any gate of several can answer them.
CREATE TABLE sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    principal  TEXT NOT NULL,
    body       TEXT NOT NULL,
    seen_at    BIGINT NOT NULL
);

CREATE INDEX sessions_by_time ON sessions (seen_at);
