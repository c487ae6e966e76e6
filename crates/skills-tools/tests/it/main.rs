//! Tests of the tools as hosts call them: a name and arguments in, text and data out.
