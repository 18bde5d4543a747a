//! mariadb
