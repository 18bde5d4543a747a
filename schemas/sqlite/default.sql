-- The default table on SQLite with the key that it counts itself (see ../mysql/default.sql).
-- An INTEGER that is the whole primary key is the 64-bit rowid itself. The word AUTOINCREMENT is left out: it would write
-- sqlite_sequence with every transaction, only to keep the numbers of deleted rows from coming back.
CREATE TABLE {table} (
  id {key},
  id2 INTEGER NOT NULL,
  id3 INTEGER NULL,
  mail TEXT NOT NULL,
  PRIMARY KEY (id)
) {options};
-- The same index as on a server, where it is part of CREATE TABLE.
CREATE INDEX {index} ON {table} (id2);
