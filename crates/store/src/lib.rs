//! Speaks SQL and keeps artifacts.
