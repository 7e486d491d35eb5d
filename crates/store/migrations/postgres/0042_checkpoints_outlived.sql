-- What was said of entries before the last purge bears nothing out any more, and may go with them. That
-- purge itself stays, and whatever was said since.
CREATE FUNCTION checkpoints_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.seq >= (SELECT COALESCE(MAX(seq), 0) FROM checkpoints WHERE kind = 'purge') THEN
        RAISE EXCEPTION 'checkpoints are append-only';
    END IF;
    RETURN OLD;
END $$;

DROP TRIGGER checkpoints_refuse_delete ON checkpoints;
CREATE TRIGGER checkpoints_refuse_delete BEFORE DELETE ON checkpoints
    FOR EACH ROW EXECUTE FUNCTION checkpoints_refuse_delete();
