//! A request to the control socket: one line of JSON. Anybody who can reach the socket may send anything.

use serde::Deserialize;

/// The longest line in bytes, its end included.
pub const LONGEST: usize = 64 * 1024;

/// The form of a dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// A request, as far as it is answered without Ruby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Asks the process to describe itself.
    Who,
    /// Asks where each thread is.
    Dump(Form),
    /// Any other request, which Ruby answers; holds the line.
    Ruby(String),
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "do")]
    action: String,
    #[serde(default)]
    form: Form,
}

impl ControlRequest {
    /// The requests that Ruby answers.
    pub const OF_RUBY: [&'static str; 11] = [
        "start", "stop", "snapshot", "rotate", "forget", "sessions", "memory", "trace", "tracing", "traced",
        "detach",
    ];

    /// Parses a line, with or without its end.
    ///
    /// # Errors
    /// Returns a description of what is wrong with the line.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|_| "the request is not UTF-8".to_owned())?.trim_end();
        let read: Line =
            serde_json::from_str(text).map_err(|why| format!("the request cannot be read: {why}"))?;
        Ok(match &*read.action {
            "who" => Self::Who,
            "dump" => Self::Dump(read.form),
            action if Self::OF_RUBY.contains(&action) => Self::Ruby(text.to_owned()),
            action => {
                let action: String = action.chars().take(40).collect();
                return Err(format!(
                    "{action:?} is not a request (allowed: who, dump, {})",
                    Self::OF_RUBY.join(", ")
                ));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_allowed() {
        assert_eq!(ControlRequest::parse(b"{\"do\":\"who\"}\n"), Ok(ControlRequest::Who));
        assert_eq!(ControlRequest::parse(br#"{"do":"dump"}"#), Ok(ControlRequest::Dump(Form::Text)));
        assert_eq!(
            ControlRequest::parse(br#"{"do":"dump","form":"json"}"#),
            Ok(ControlRequest::Dump(Form::Json))
        );
        let line = r#"{"do":"stop","session":1}"#;
        assert_eq!(ControlRequest::parse(line.as_bytes()), Ok(ControlRequest::Ruby(line.to_owned())));
    }

    #[test]
    fn refuses_all_else_in_words() {
        for line in [
            "",
            "{",
            "[]",
            "null",
            "7",
            "{\"do\":7}",
            "{\"form\":\"json\"}",
            "{\"do\":\"dump\",\"form\":\"xml\"}",
        ] {
            assert!(
                ControlRequest::parse(line.as_bytes()).unwrap_err().starts_with("the request cannot be read"),
                "{line}"
            );
        }
        assert_eq!(ControlRequest::parse(b"\xff\xfe"), Err("the request is not UTF-8".to_owned()));
        let refused = ControlRequest::parse(br#"{"do":"eval"}"#).unwrap_err();
        assert_eq!(
            refused,
            "\"eval\" is not a request (allowed: who, dump, start, stop, snapshot, rotate, forget, sessions, memory, trace, tracing, traced, detach)"
        );
        // Deep nesting must not overflow the stack.
        let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
        assert!(ControlRequest::parse(deep.as_bytes()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn bears_anything(bytes: Vec<u8>) {
            let _ = ControlRequest::parse(&bytes);
        }

        #[test]
        fn bears_damage(
            action in "who|dump|start|stop|[a-z]{0,9}", form in "text|json|[a-z]{0,9}", at in 0..60_usize, byte: u8,
        ) {
            let mut line = format!("{{\"do\":\"{action}\",\"form\":\"{form}\",\"session\":1}}\n").into_bytes();
            let is_known = ControlRequest::parse(&line).is_ok();
            let all = ["who", "dump"].iter().chain(&ControlRequest::OF_RUBY).any(|it| *it == action);
            proptest::prop_assert_eq!(is_known, all && ["text", "json"].contains(&&*form));
            let len = line.len();
            line[at % len] = byte;
            let _ = ControlRequest::parse(&line);
        }
    }
}
