-- Questions to humans, and their answers.
CREATE TABLE approvals (
    approval_id   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    gate          TEXT NOT NULL,
    state         TEXT NOT NULL
        CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'redeemed')),
    frozen_hash   TEXT NOT NULL,
    requested_by  TEXT NOT NULL,
    requested_for TEXT NOT NULL,
    tool          TEXT NOT NULL,
    args          TEXT NOT NULL,
    requested_at  BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    approver      TEXT,
    answered_at   BIGINT,
    reason        TEXT
);

-- A call that is asked again while its question lives must not become a second question.
CREATE UNIQUE INDEX approvals_one_live ON approvals (frozen_hash)
    WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_by_state ON approvals (state, expires_at);
CREATE INDEX approvals_by_time ON approvals (requested_at);
