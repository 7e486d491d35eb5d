-- Whose people may answer: those of the tenant of whoever asks. Questions from before have none, so
-- that only people without a tenant see them.
ALTER TABLE approvals ADD COLUMN tenant TEXT;
