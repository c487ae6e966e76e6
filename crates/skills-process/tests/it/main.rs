//! Tests of supervision, of the search for interpreters and of quotas.

#[cfg(unix)]
mod interpreter;
#[cfg(unix)]
mod machine;
#[cfg(unix)]
mod quota;
#[cfg(unix)]
mod supervise;
