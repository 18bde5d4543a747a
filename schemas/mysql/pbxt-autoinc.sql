-- The table of the post "PBXT: New Kid on the Block" for an AUTO_INCREMENT key; also the default table of runs that were
-- recorded before there was one table for every key. The key is 64 bits and unsigned, so that no run can reach its end.
CREATE TABLE {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  id2 INT NOT NULL,
  id3 INT NULL,
  PRIMARY KEY (id),
  KEY id2 (id2)
) {options}
