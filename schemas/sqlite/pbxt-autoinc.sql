-- The table of the PBXT post (see ../mysql/pbxt-autoinc.sql), on SQLite.
-- INTEGER PRIMARY KEY is the 64-bit rowid itself and counts on its own. The word AUTOINCREMENT is left out: it
-- would write sqlite_sequence with every transaction, only to keep the numbers of deleted rows from coming back.
CREATE TABLE {table} (
  id INTEGER PRIMARY KEY,
  id2 INTEGER NOT NULL,
  id3 INTEGER NULL
) {options};
-- The same index as on a server, where it is part of CREATE TABLE.
CREATE INDEX {index} ON {table} (id2);
