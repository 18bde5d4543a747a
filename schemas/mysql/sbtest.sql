-- The table of the OLTP test of sysbench 0.4. Text has one byte for each character, as MySQL 5.1 had it: with utf8mb4 the server
-- would store and compare something else.
-- sysbench 0.4 fills it with rows that are all alike (k = 0, c = ' ', 50 letters of pad). Here k is spread over its index and each
-- text fills its column, as later versions of sysbench do: a key that is one value for all rows is no index.
CREATE TABLE {table} (
  id INTEGER UNSIGNED NOT NULL AUTO_INCREMENT,
  k INTEGER UNSIGNED NOT NULL DEFAULT 0,
  c CHAR(120) CHARACTER SET latin1 NOT NULL DEFAULT '',
  pad CHAR(60) CHARACTER SET latin1 NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  KEY k (k)
) {options}
