-- The table of `autoinc` for engines that index nothing but the AUTO_INCREMENT column (ARCHIVE).
-- The key is a plain one: ARCHIVE takes no second index and no other kind.
CREATE TABLE {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  id2 INT NOT NULL,
  id3 INT NULL,
  PRIMARY KEY (id)
) {options}
