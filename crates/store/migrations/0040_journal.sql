-- Entries from here on may stand in the journal beside the database before they stand here. A gate that
-- would not look there, and go on from an older end of the chain, is kept out by the number of this file.
SELECT 1;
