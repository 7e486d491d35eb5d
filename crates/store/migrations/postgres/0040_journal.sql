-- A server has no journal; the number is SQLite's.
SELECT 1;
