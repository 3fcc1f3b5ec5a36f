//! A dump: where each thread of a process is, and since when.

use std::fmt::Write;

use serde::Serialize;

use crate::text::units::duration;

/// A snapshot of all threads of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dump {
    /// The id of the process.
    pub pid: u32,
    /// `RUBY_DESCRIPTION`.
    pub ruby: String,
    /// The command line of the process.
    pub program: String,
    /// The time at which the threads were asked, seconds since 1970 UTC.
    pub at: f64,
    /// Whether everything that can be named has its full name. Without the GVL, only functions that are known
    /// already do.
    pub named: bool,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// The threads: the holder of the GVL, then those that run, those that wait for the GVL, and the others.
    pub threads: Vec<DumpedThread>,
}

/// A thread in a dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DumpedThread {
    /// The kernel's id of the thread.
    pub native_id: u64,
    /// The name of the thread.
    pub name: String,
    /// The state: `running`, `gvl` (waiting for the GVL), `gc` or `waiting`.
    pub state: String,
    /// The time that the thread has been in this state, ns. `None` if it is unknown.
    pub for_ns: Option<u64>,
    /// Whether the thread may have been in this state for longer: it was when the profiler began to look.
    pub at_least: bool,
    /// Whether the thread is known to hold the GVL.
    pub has_gvl: bool,
    /// The labels of the thread.
    pub labels: Vec<(String, String)>,
    /// The frames, leaf first.
    pub frames: Vec<DumpedFrame>,
    /// The reason why there are no frames.
    pub missing: Option<String>,
}

/// A frame in a dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DumpedFrame {
    /// The qualified name of the function. Without the GVL it may be only the label.
    pub name: String,
    /// The file; `<cfunc>` for a C function, and empty for a synthetic frame.
    pub path: String,
    /// The line being executed; 0 if it is unknown.
    pub line: u32,
}

impl Dump {
    /// Sorts the threads into their order.
    pub fn sort(&mut self) {
        let rank = |it: &DumpedThread| match &*it.state {
            _ if it.has_gvl => 0,
            "gc" => 1,
            "running" => 2,
            "gvl" => 3,
            _ => 4,
        };
        self.threads.sort_by_key(|it| (rank(it), it.native_id));
    }

    /// Returns the dump as text for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("Process {}: {}\n{}\n", self.pid, self.program, self.ruby);
        let holder = self.threads.iter().find(|it| it.has_gvl);
        let waiting = self.threads.iter().filter(|it| it.state == "gvl").count();
        let gvl = match (holder, waiting) {
            (Some(it), 0) => format!("The GVL is held by {}.", it.title()),
            (Some(it), 1) => format!("The GVL is held by {}, and 1 thread waits for it.", it.title()),
            (Some(it), waiting) => {
                format!("The GVL is held by {}, and {waiting} threads wait for it.", it.title())
            }
            (None, 0) => "No thread is known to hold the GVL.".to_owned(),
            (None, waiting) => format!("No thread is known to hold the GVL. Waiting for it: {waiting}."),
        };
        let _ = writeln!(text, "{gvl}");
        self.notes.iter().for_each(|it| text.push_str(&format!("Note: {it}\n")));
        for thread in &self.threads {
            let _ = write!(text, "\n{}: {}", thread.title(), thread.doing());
            if !thread.labels.is_empty() {
                let labels: Vec<String> =
                    thread.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let _ = write!(text, " [{}]", labels.join(" "));
            }
            text.push('\n');
            thread.frames.iter().for_each(|it| it.write(&mut text));
            if let Some(why) = &thread.missing {
                let _ = writeln!(text, "    (no stack: {why})");
            }
        }
        text
    }

    /// Returns the dump as one line of JSON for programs.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl DumpedThread {
    fn title(&self) -> String {
        match &*self.name {
            "" => format!("thread {}", self.native_id),
            name => format!("thread {} \"{name}\"", self.native_id),
        }
    }

    fn doing(&self) -> String {
        let state = match &*self.state {
            "gvl" => "waits for the GVL",
            "gc" => "collects garbage",
            "waiting" => "waits",
            _ if self.has_gvl => "runs with the GVL",
            _ => "runs",
        };
        match self.for_ns {
            Some(ns) if self.at_least => format!("{state} for at least {}", duration(ns)),
            Some(ns) => format!("{state} for {}", duration(ns)),
            None => state.to_owned(),
        }
    }
}

impl DumpedFrame {
    fn write(&self, text: &mut String) {
        let _ = match (&*self.path, self.line) {
            ("", _) => writeln!(text, "    {}", self.name),
            (path, 0) => writeln!(text, "    {} ({path})", self.name),
            (path, line) => writeln!(text, "    {} ({path}:{line})", self.name),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(native_id: u64, name: &str, state: &str) -> DumpedThread {
        DumpedThread { native_id, name: name.into(), state: state.into(), ..DumpedThread::default() }
    }

    #[test]
    fn prints_the_culprit_first() {
        let frame = |name: &str, path: &str, line| DumpedFrame { name: name.into(), path: path.into(), line };
        let worker = DumpedThread {
            for_ns: Some(1_250_000_000),
            labels: vec![("endpoint".into(), "users#show".into())],
            frames: vec![frame("Queue#pop", "<cfunc>", 0), frame("Pool#work", "lib/pool.rb", 7)],
            ..thread(12, "worker", "waiting")
        };
        let hog = DumpedThread {
            has_gvl: true,
            frames: vec![frame("String#match?", "<cfunc>", 0), frame("(truncated)", "", 0)],
            ..thread(13, "", "running")
        };
        let old = DumpedThread { for_ns: Some(20_000_000), at_least: true, ..thread(14, "main", "waiting") };
        let late = DumpedThread { missing: Some("it did not answer".into()), ..thread(11, "late", "gvl") };
        let mut dump = Dump {
            pid: 10,
            ruby: "ruby 3.4.1".into(),
            program: "app.rb".into(),
            notes: vec!["nobody had time".into()],
            threads: vec![old, worker, late, hog],
            ..Dump::default()
        };
        dump.sort();
        let text = "Process 10: app.rb
ruby 3.4.1
The GVL is held by thread 13, and 1 thread waits for it.
Note: nobody had time

thread 13: runs with the GVL
    String#match? (<cfunc>)
    (truncated)

thread 11 \"late\": waits for the GVL
    (no stack: it did not answer)

thread 12 \"worker\": waits for 1.25 s [endpoint=users#show]
    Queue#pop (<cfunc>)
    Pool#work (lib/pool.rb:7)

thread 14 \"main\": waits for at least 20.0 ms
";
        assert_eq!(dump.text(), text);
        assert!(dump.json().starts_with("{\"pid\":10,"));
    }
}
