//! mysql
