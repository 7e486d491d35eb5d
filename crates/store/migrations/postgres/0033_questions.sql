-- What a question is about, and by which hash the same request finds it again. The frozen hash now
-- holds the end of the question too, so that no two questions share one. Questions from before are
-- frozen without their end: they are closed, and the call asks anew.
ALTER TABLE approvals ADD COLUMN subject TEXT NOT NULL DEFAULT 'call';
ALTER TABLE approvals ADD COLUMN subject_hash TEXT NOT NULL DEFAULT '';
UPDATE approvals SET subject_hash = frozen_hash;
UPDATE approvals SET state = 'expired' WHERE state IN ('pending', 'approved');

DROP INDEX approvals_one_live;
CREATE UNIQUE INDEX approvals_one_live ON approvals (subject_hash)
    WHERE state IN ('pending', 'approved');
