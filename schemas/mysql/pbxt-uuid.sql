-- The table of the post "PBXT: New Kid on the Block" for a UUID key, there CHAR(32); also the default table of runs that were
-- recorded before there was one table for every key. The post had `mail` without NOT NULL.
-- The type of `uid` names its own character set (latin1_bin for text): with utf8mb4 the server would reserve four
-- bytes for each hex digit, and CHAR for raw bytes would lose trailing 0x20.
-- There is no second index.
CREATE TABLE {table} (
  uid {key_type} NOT NULL,
  id INT NOT NULL,
  id2 INT NOT NULL,
  mail TEXT CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (uid)
) {options}
