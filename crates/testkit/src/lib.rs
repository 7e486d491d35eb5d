//! Fakes the world for tests.
