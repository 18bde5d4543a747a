-- The default table: one for every key, so that a picture of keys shows the key and nothing else.
-- `{key}` is BIGINT UNSIGNED with AUTO_INCREMENT (64 bits, so that no run reaches its end) or a UUID in the storage asked for.
-- `id2` has an index because a table that is used has one, and so that a row can be found again by what was sent.
-- `mail` is an address of 24 to 40 bytes. It names its own character set: with utf8mb4 a server would store and compare something else.
CREATE TABLE {table} (
  id {key},
  id2 INT NOT NULL,
  id3 INT NULL,
  mail TEXT CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (id),
  KEY id2 (id2)
) {options}
