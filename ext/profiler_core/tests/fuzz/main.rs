//! Files with random damage are read without a panic, without hanging, and in bounded memory.
//!
//! `FUZZ_SECONDS` says how long (10, or 20 where CI is set), `FUZZ_SEED` repeats a run: the seed is printed.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod bombs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use flate2::{write::GzEncoder, Compression};
use profiler_core::analysis::{call_tree, diff, merge, method, top};
use profiler_core::format::{self, read, Format, Options};
use profiler_core::ids::FunctionId;

/// Counts what is allocated, and the most of it at once.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; beside it only two numbers are changed.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: what the caller promises is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller passes memory of `alloc`, with its layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that any file may take, unpacked and as tables.
const MAX_BYTES: usize = 2_500 << 20;

/// The longest that one may take, in a build without optimisation on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = profiler_core::rng::after(self.0);
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes), &mut all).unwrap();
    all
}

/// Real files of every kind that is read, and of those that only look like one.
fn corpus() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")); // of the package that is tested: see profiler/tests/fuzz.rs
    let shop = std::fs::read(root.join("../../spec/fixtures/shop.pb.gz")).unwrap();
    let profile = read(&shop).unwrap();
    let mut files = vec![unpacked(&shop)];
    for format in Format::all() {
        let mut bytes = Vec::new();
        format::write(format, &profile, &mut bytes).unwrap();
        files.push(if format == Format::Pprof { unpacked(&bytes) } else { bytes });
    }
    for name in ["timed.speedscope.json", "timed.stackprof.json"] {
        files.push(std::fs::read(root.join("../profiler_core/tests/golden").join(name)).unwrap());
    }
    for name in ["shop.vernier.json", "shop.rperf.json"] {
        files.push(std::fs::read(root.join("../../spec/fixtures").join(name)).unwrap());
    }
    // Of another program: ids out of order, inlined calls.
    let strings: Vec<u8> = ["", "cpu", "ns", "main"]
        .iter()
        .flat_map(|it| [&[0x32, it.len() as u8], it.as_bytes()].concat())
        .collect();
    let foreign = [
        &[
            0x0a, 4, 8, 1, 16, 2, 0x12, 6, 0x0a, 1, 3, 0x12, 1, 5, 0x22, 8, 8, 3, 0x22, 4, 8, 9, 16, 7, 0x2a,
            4, 8, 9, 16, 3,
        ][..],
        &strings,
    ]
    .concat();
    files.push(foreign);
    files.push(bombs::foreign(3, 2, 2, 8));
    files.push(
        br#"{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","name":"x","unit":"seconds","startValue":0,"endValue":2,"events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":2}]}]}"#.to_vec(),
    );
    files
}

fn damage(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let place = random.below(bytes.len() + 1);
    let length = 1 << random.below(8);
    let end = (place + length).min(bytes.len());
    match random.below(10) {
        0 => bytes.iter_mut().skip(place).take(1).for_each(|it| *it ^= 1 << random.below(8)),
        1 => bytes.iter_mut().skip(place).take(1).for_each(|it| *it = random.next() as u8),
        2 => bytes.truncate(place),
        3 => drop(bytes.drain(place..end)),
        4 => {
            let more: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            drop(bytes.splice(place..place, more));
        }
        // A part of itself, many times: what is small in a file can be much.
        5 => {
            let part = bytes[place..end].to_vec();
            let times = (1 << random.below(14)).min((1 << 20) / part.len().max(1));
            drop(bytes.splice(place..place, part.repeat(times)));
        }
        // Numbers without an end, and the greatest.
        6 => drop(bytes.splice(place..end.min(place + 10), vec![0xff; random.below(12)])),
        7 => drop(bytes.splice(
            place..end,
            [&b"9223372036854775807"[..], b"-1", b"1e300", b"null", b"{}"][random.below(5)].to_vec(),
        )),
        8 => {
            let deep =
                [&b"["[..], b"{\"a\":", b";", b"\x0a\xff\x7f"][random.below(4)].repeat(1 << random.below(17));
            drop(bytes.splice(place..place, deep));
        }
        _ => {
            let other = &others[random.below(others.len())];
            let from = random.below(other.len());
            let to = (from + (1 << random.below(10))).min(other.len());
            drop(bytes.splice(place..end, other[from..to].to_vec()));
        }
    }
}

/// Analyses and writes a profile, if the bytes are one.
fn use_it(bytes: &[u8], random: &mut Random) {
    let Ok(profile) = read(bytes) else { return };
    let of = profile.default_sample_type();
    drop(top::top(&profile, of, top::Order::TotalWeight));
    if profile.stacks.len() > 100_000 || profile.samples.len() > 100_000 {
        return;
    }
    match random.below(5) {
        0 => drop(call_tree::call_tree(&profile, of)),
        1 => drop(merge::merge(&[&profile, &profile])),
        2 => drop(method::method(&profile, FunctionId(0), of)),
        3 => {
            let compare = diff::Compare { of, total: random.below(2) > 0, absolute: random.below(2) > 0 };
            drop(diff::diff(&[&profile], &[&profile], compare));
        }
        _ if profile.stacks.len() < 2_000 => {
            let all: Vec<Format> = Format::all().collect();
            let options = Options::default();
            let _ =
                format::write_with(all[random.below(all.len())], &profile, &options, &mut std::io::sink());
        }
        _ => {}
    }
}

fn seconds() -> u64 {
    let seconds =
        std::env::var("FUZZ_SECONDS").ok().map(|it| it.parse().expect("FUZZ_SECONDS is not a number"));
    seconds.unwrap_or(if std::env::var_os("CI").is_some() { 20 } else { 10 })
}

/// No input any more.
const OVER: u64 = u64::MAX;

/// The lock that lets one test run at a time, as the memory that they take is counted together.
static TURN: Mutex<()> = Mutex::new(());

/// Ends the process when an input takes too long: a test that hangs does not report which input it was.
fn watch(inputs: &'static AtomicU64) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = inputs.load(Relaxed);
            if now == OVER {
                return;
            }
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > LONGEST {
                println!("input {now} hangs");
                std::process::abort();
            }
        }
    });
}

#[test]
fn damaged_files() {
    let _turn = TURN.lock();
    static INPUTS: AtomicU64 = AtomicU64::new(0);
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed =
        std::env::var("FUZZ_SEED").map_or(clock | 1, |it| it.parse().expect("FUZZ_SEED is not a number"));
    println!("FUZZ_SEED={seed}");
    watch(&INPUTS);
    let corpus = corpus();
    let mut random = Random(seed);
    let until = Instant::now() + Duration::from_secs(seconds());
    while Instant::now() < until {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(4) {
            damage(&mut bytes, &corpus, &mut random);
        }
        if random.below(4) == 0 {
            bytes = gzip(&bytes);
            if random.below(2) == 0 {
                damage(&mut bytes, &corpus, &mut random);
            }
        }
        let number = INPUTS.fetch_add(1, Relaxed) + 1;
        PEAK.store(NOW.load(Relaxed), Relaxed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| use_it(&bytes, &mut random)));
        let most = PEAK.load(Relaxed);
        let fine = outcome.is_ok() && most < MAX_BYTES;
        if !fine {
            let kept = std::env::temp_dir().join(format!("profiler-fuzz-{seed}-{number}"));
            std::fs::write(&kept, &bytes).unwrap();
            panic!(
                "input {number} of seed {seed}, {} bytes, took {most} bytes: kept as {}",
                bytes.len(),
                kept.display()
            );
        }
    }
    println!("{} inputs", INPUTS.swap(OVER, Relaxed));
}
