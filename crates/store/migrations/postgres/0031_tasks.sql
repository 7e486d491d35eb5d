-- Calls that go on after their answer: whose they are and where they came from.
CREATE TABLE tasks (
    principal TEXT NOT NULL,
    task_id   TEXT NOT NULL,
    body      TEXT NOT NULL,
    ended     TEXT NOT NULL,
    begun_at  BIGINT NOT NULL,
    PRIMARY KEY (principal, task_id)
);

CREATE INDEX tasks_by_time ON tasks (begun_at);
