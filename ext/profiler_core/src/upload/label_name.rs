//! Label names in the form that engines of the Prometheus family demand.

/// Returns the name with `_` for each character that is not allowed by `[A-Za-z_][A-Za-z0-9_]*`. With other
/// names, a whole profile is refused.
pub(super) fn label_name(name: &str) -> String {
    let allowed = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let starts_with_digit = name.starts_with(|it: char| it.is_ascii_digit());
    let prefix = if starts_with_digit || name.is_empty() { "_" } else { "" };
    prefix.chars().chain(name.chars().map(allowed)).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::label_name;

    #[test]
    fn renames_what_is_not_allowed() {
        for (name, renamed) in [
            ("endpoint", "endpoint"),
            ("http.route", "http_route"),
            ("thread name", "thread_name"),
            ("Größe", "Gr__e"),
            ("9lives", "_9lives"),
            ("a\0b\n", "a_b_"),
            ("", "_"),
        ] {
            assert_eq!(label_name(name), renamed);
        }
    }
}
