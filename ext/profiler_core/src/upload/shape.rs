//! The shape of an upload: which part of a profile is sent.

/// The part of a profile that is sent.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The labels of all samples, by name: the service, its version, the host.
    pub labels: Vec<(String, String)>,
    /// The names of the sample labels that are sent. All others are left out, because each value is a series
    /// in an engine.
    pub dimensions: Vec<String>,
    /// The maximum number of values of such a label. Lighter values become `(other)`.
    pub values: usize,
    /// The maximum number of frames of a stack. Frames beyond it, at the root, become `(truncated)`.
    pub depth: usize,
    /// The maximum number of samples of a family. The lightest are merged into one with the stack `(other)`
    /// for each label set.
    pub samples: usize,
    /// The maximum number of bytes of a family before compression. If necessary, there are fewer samples.
    pub bytes: usize,
}

impl Default for Shape {
    /// Returns the limits of Pyroscope, which cuts the leaves off deeper stacks, and refuses more samples and
    /// bytes.
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
