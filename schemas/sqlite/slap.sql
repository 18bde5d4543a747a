-- The table that mysqlslap makes (see ../mysql/slap.sql), on SQLite.
CREATE TABLE {table} (
  id INTEGER PRIMARY KEY,
  intcol1 INTEGER,
  intcol2 INTEGER,
  charcol1 VARCHAR(128),
  charcol2 VARCHAR(128),
  charcol3 VARCHAR(128)
) {options}
