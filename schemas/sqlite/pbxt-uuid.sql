-- The table of the PBXT post (see ../mysql/pbxt-uuid.sql), on SQLite.
-- WITHOUT ROWID makes the key the table's own B-tree, as in InnoDB; otherwise SQLite would append rows to a rowid
-- table and keep the UUID in a second tree.
CREATE TABLE {table} (
  uid {key_type} NOT NULL PRIMARY KEY,
  id INTEGER NOT NULL,
  id2 INTEGER NOT NULL,
  mail TEXT NOT NULL
) WITHOUT ROWID {options};
