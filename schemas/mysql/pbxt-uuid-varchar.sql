-- pbxt-uuid.sql for engines without TEXT (MEMORY).
-- The address has 24 to 40 bytes; 60 leave room for a longer payload. MEMORY pays for all 60 in every row.
CREATE TABLE {table} (
  uid {key_type} NOT NULL,
  id INT NOT NULL,
  id2 INT NOT NULL,
  mail VARCHAR(60) CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (uid)
) {options}
