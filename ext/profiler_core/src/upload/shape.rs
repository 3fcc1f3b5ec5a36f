//! The part of a profile that is sent.

/// The part of a profile that is sent.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Labels of all samples, by name: the service, its version, the host.
    pub labels: Vec<(String, String)>,
    /// Names of labels of samples that are sent. All others are left out: in engines each value is a series.
    pub dimensions: Vec<String>,
    /// The most values of such a label. The lighter ones become `(other)`.
    pub values: usize,
    /// The most frames of a stack. Those at the root become `(truncated)`.
    pub depth: usize,
    /// The most samples of a family. The lightest become one of the stack `(other)` for each set of labels.
    pub samples: usize,
    /// The most bytes of a family, before compression. There are fewer samples if need be.
    pub bytes: usize,
}

impl Default for Shape {
    /// The limits of Pyroscope, which cuts the leaves off deeper stacks, and refuses more samples and bytes.
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            dimensions: vec!["endpoint".into(), "job".into()],
            values: 100,
            depth: 1_000,
            samples: 16_000,
            bytes: 4 << 20,
        }
    }
}
