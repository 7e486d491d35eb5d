-- When a policy or definition was last known to be in force: what is older than every entry can go.
ALTER TABLE lineage ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
UPDATE lineage SET seen_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000;
