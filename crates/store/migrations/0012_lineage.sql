-- What records point to by hash: policies and definitions as they were in force.
CREATE TABLE lineage (
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, hash)
);
