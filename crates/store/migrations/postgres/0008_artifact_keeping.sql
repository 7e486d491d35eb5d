-- How long an artifact is kept, and what else it is called. `alias` is the seed's handle, valid in
-- its call and, unqualified, in its session. What is cited is kept whatever its age.
ALTER TABLE artifacts ADD COLUMN alias TEXT;
ALTER TABLE artifacts ADD COLUMN session TEXT;
ALTER TABLE artifacts ADD COLUMN cited BIGINT NOT NULL DEFAULT 0;
ALTER TABLE artifacts ADD COLUMN expires_at BIGINT;

CREATE INDEX artifacts_by_alias ON artifacts (principal, alias, seq);
CREATE INDEX artifacts_by_content ON artifacts (artifact_id);
CREATE INDEX artifacts_by_age ON artifacts (cited, seq, expires_at, size_bytes);
