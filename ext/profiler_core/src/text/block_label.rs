//! Ruby's labels of blocks.

/// Returns the depth of a label such as `block (2 levels) in make`: the number of blocks, and the number of
/// `rescue` and `ensure` clauses inside the innermost block.
#[must_use]
pub fn block_depth(label: &str) -> (usize, usize) {
    let (mut rest, mut clauses) = (label, 0);
    while let Some(inner) = rest.strip_prefix("rescue in ").or_else(|| rest.strip_prefix("ensure in ")) {
        (rest, clauses) = (inner, clauses + 1);
    }
    let blocks = match rest.strip_prefix("block ") {
        Some(one) if one.starts_with("in ") => 1,
        Some(more) => {
            more.strip_prefix('(').and_then(|it| it.split_once(" levels) in ")?.0.parse().ok()).unwrap_or(0)
        }
        None => 0,
    };
    (blocks, clauses)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::block_depth;

    #[test]
    fn parses_block_depth_from_labels() {
        for (label, is) in [
            ("<main>", (0, 0)),
            ("<class:Foo>", (0, 0)),
            ("block in <class:Foo>", (1, 0)),
            ("block (2 levels) in <top (required)>", (2, 0)),
            ("rescue in block in <main>", (1, 1)),
            ("ensure in rescue in block (12 levels) in make", (12, 2)),
            ("block party", (0, 0)),
            ("block (many levels) in x", (0, 0)),
        ] {
            assert_eq!(block_depth(label), is, "{label}");
        }
    }
}
