-- The table of `autoinc`, after the post that the tool comes from.
-- The key is 64 bits and unsigned, so that no run can reach its end; the server gives it.
-- `id2` has an index because a table that is used has one, and so that a row can be found again by what was sent.
CREATE TABLE {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  id2 INT NOT NULL,
  id3 INT NULL,
  PRIMARY KEY (id),
  KEY id2 (id2)
) {options}
