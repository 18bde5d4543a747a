-- The default table on SQLite with a UUID key.
-- WITHOUT ROWID makes the key the table's own B-tree, as in InnoDB; otherwise SQLite would append rows to a rowid
-- table and keep the UUID in a second tree.
CREATE TABLE {table} (
  id {key},
  id2 INTEGER NOT NULL,
  id3 INTEGER NULL,
  mail TEXT NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID {options};
CREATE INDEX {index} ON {table} (id2);
