-- Prompts and resources are pinned beside tools.
CREATE TABLE pins_of_kinds (
    upstream   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    gone       BIGINT NOT NULL CHECK (gone IN (0, 1)),
    pinned_at  BIGINT NOT NULL,
    PRIMARY KEY (upstream, kind, name)
);
INSERT INTO pins_of_kinds (upstream, kind, name, hash, definition, gone, pinned_at)
SELECT upstream, 'tool', tool, hash, definition, gone, pinned_at FROM pins;
DROP TABLE pins;
ALTER TABLE pins_of_kinds RENAME TO pins;
