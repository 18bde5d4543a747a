-- pbxt-autoinc.sql for engines that index nothing but the AUTO_INCREMENT column (ARCHIVE).
CREATE TABLE {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  id2 INT NOT NULL,
  id3 INT NULL,
  PRIMARY KEY (id)
) {options}
