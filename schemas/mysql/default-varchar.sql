-- The default table for engines without TEXT (MEMORY).
-- The address has 24 to 40 bytes; 60 leave room for a longer payload. MEMORY pays for all 60 in every row.
CREATE TABLE {table} (
  id {key},
  id2 INT NOT NULL,
  id3 INT NULL,
  mail VARCHAR(60) CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (id),
  KEY id2 (id2)
) {options}
