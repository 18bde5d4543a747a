-- The table of the UUID keys, after the post that the tool comes from.
-- The type of `uid` names its own character set (latin1_bin for text): with utf8mb4 the server would reserve four
-- bytes for each hex digit, and CHAR for raw bytes would lose trailing 0x20.
-- There is no second index: the curve shows what the key costs and nothing else.
CREATE TABLE {table} (
  uid {key_type} NOT NULL,
  id INT NOT NULL,
  id2 INT NOT NULL,
  mail TEXT CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (uid)
) {options}
