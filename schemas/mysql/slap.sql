-- The table that mysqlslap makes with --auto-generate-sql --auto-generate-sql-add-autoincrement --number-int-cols=2
-- --number-char-cols=3. mysqlslap writes `id serial`, which is the same column with a UNIQUE key: InnoDB clusters a table without
-- a primary key by it just the same. It is a primary key here, so that reads by primary key have one everywhere. INT(32) is INT:
-- the width changed nothing but the display.
-- A row has no NULL in it and each text fills its column, as mysqlslap's own rows do.
CREATE TABLE {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  intcol1 INT,
  intcol2 INT,
  charcol1 VARCHAR(128) CHARACTER SET latin1,
  charcol2 VARCHAR(128) CHARACTER SET latin1,
  charcol3 VARCHAR(128) CHARACTER SET latin1,
  PRIMARY KEY (id)
) {options}
