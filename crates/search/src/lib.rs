//! Ranks tools for a query.
