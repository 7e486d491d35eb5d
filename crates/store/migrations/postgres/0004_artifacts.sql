-- Who may read which stored bytes, and under what name. The bytes lie beside the database, under
-- their hash. A handle may return with a later call; the newest row is what it means.
CREATE TABLE artifacts (
    seq         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handle      TEXT NOT NULL,
    artifact_id TEXT NOT NULL,
    principal   TEXT NOT NULL,
    call_id     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    media_type  TEXT NOT NULL,
    size_bytes  BIGINT NOT NULL,
    label       TEXT NOT NULL,
    class       TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);

CREATE INDEX artifacts_by_handle ON artifacts (principal, handle, seq);
