-- What runs with a budget have used up, so that every gate on this database counts on from there.
CREATE TABLE runs (
    run          TEXT NOT NULL PRIMARY KEY,
    began_at     BIGINT NOT NULL,
    seen_at      BIGINT NOT NULL,
    calls        BIGINT NOT NULL,
    writes       BIGINT NOT NULL,
    tokens       BIGINT NOT NULL,
    cost         BIGINT NOT NULL,
    retries      BIGINT NOT NULL,
    iterations   BIGINT NOT NULL,
    result_bytes BIGINT NOT NULL,
    elicitations BIGINT NOT NULL,
    samples      BIGINT NOT NULL
);
CREATE INDEX runs_by_time ON runs (seen_at);

-- How often a run has made the same call, and whether it failed last.
CREATE TABLE run_calls (
    run    TEXT NOT NULL,
    call   TEXT NOT NULL,
    times  BIGINT NOT NULL,
    failed BIGINT NOT NULL CHECK (failed IN (0, 1)),
    PRIMARY KEY (run, call)
);
