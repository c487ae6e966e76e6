//! Tests of the contract and of the supervision of a child process.
