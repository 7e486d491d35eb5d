-- Tool definitions as accepted: what an upstream lists later is held against them.
CREATE TABLE pins (
    upstream   TEXT NOT NULL,
    tool       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    gone       BIGINT NOT NULL CHECK (gone IN (0, 1)),
    pinned_at  BIGINT NOT NULL,
    PRIMARY KEY (upstream, tool)
);
