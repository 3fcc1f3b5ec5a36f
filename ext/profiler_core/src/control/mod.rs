//! The view into a running process: the requests to its control socket, and the answers.

pub mod deadline;
pub mod dump;
pub mod request;
pub mod who;

/// Returns a line of JSON, without the line end, that says why there is no other answer.
#[must_use]
pub fn error_line(why: &str) -> String {
    serde_json::json!({ "error": why }).to_string()
}

/// Returns a line of JSON, without the line end, that says how many bytes follow it.
#[must_use]
pub fn body_line(bytes: usize) -> String {
    serde_json::json!({ "bytes": bytes }).to_string()
}
