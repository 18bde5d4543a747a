-- The default table for engines that index nothing but the AUTO_INCREMENT column (ARCHIVE).
CREATE TABLE {table} (
  id {key},
  id2 INT NOT NULL,
  id3 INT NULL,
  mail TEXT CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (id)
) {options}
