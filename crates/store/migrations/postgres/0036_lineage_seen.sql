-- When a policy or definition was last known to be in force: what is older than every entry can go.
ALTER TABLE lineage ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
UPDATE lineage SET seen_at = CAST(EXTRACT(EPOCH FROM now()) AS BIGINT) * 1000;
