//! Talks to clients and people.
