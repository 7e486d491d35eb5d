-- A record has the number of its call, and so has a run of one call alone: such rows are found by
-- their record id and need no further index. What a caller named itself still does.
DROP INDEX entries_by_call;
DROP INDEX entries_by_run;

CREATE INDEX entries_by_call ON entries (call_id)
WHERE substr(call_id, 6) <> substr(record_id, 5);

CREATE INDEX entries_by_run ON entries (run_id, seq)
WHERE substr(run_id, 5) <> substr(record_id, 5);
