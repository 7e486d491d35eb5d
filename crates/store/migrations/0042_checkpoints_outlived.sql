-- What was said of entries before the last purge bears nothing out any more, and may go with them. That
-- purge itself stays, and whatever was said since.
DROP TRIGGER checkpoints_refuse_delete;
CREATE TRIGGER checkpoints_refuse_delete BEFORE DELETE ON checkpoints
WHEN OLD.seq >= (SELECT COALESCE(MAX(seq), 0) FROM checkpoints WHERE kind = 'purge')
BEGIN
    SELECT RAISE(ABORT, 'checkpoints are append-only');
END;
