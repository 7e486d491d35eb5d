-- A look at the end of the chain for each new row cost more than the row. The key of the row keeps
-- two gates from adding at the same place, and whoever verifies the chain sees a gap.
DROP TRIGGER entries_refuse_gap;
