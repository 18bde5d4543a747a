-- The table of the OLTP test of sysbench 0.4 (see ../mysql/sbtest.sql), on SQLite.
CREATE TABLE {table} (
  id INTEGER PRIMARY KEY,
  k INTEGER NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT ''
) {options};
CREATE INDEX {index} ON {table} (k);
