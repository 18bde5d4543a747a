//! What people see, made from the stored files: tables and pictures. Text in, text out; the caller prints and writes.
