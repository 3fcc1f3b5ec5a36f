//! The view into a running process: what its control socket is asked, and what it answers.

pub mod deadline;
pub mod dump;
pub mod request;
pub mod who;

/// The line of JSON, without its end, that says in words why there is no other answer.
#[must_use]
pub fn error_line(why: &str) -> String {
    serde_json::json!({ "error": why }).to_string()
}

/// The line of JSON, without its end, that says how many bytes follow it.
#[must_use]
pub fn body_line(bytes: usize) -> String {
    serde_json::json!({ "bytes": bytes }).to_string()
}
