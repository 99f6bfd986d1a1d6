//! What every fuzz target shares: texts that are nearly right, and how long each takes.
//!
//! On the stable toolchain: texts that are right are cut, repeated, mixed and misspelled. The draws are
//! the same every time.

use std::{
    fs,
    time::{Duration, Instant},
};

pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) parse: fn(&str),
    /// Right texts to begin with.
    pub(crate) corpus: Vec<String>,
    /// A long text that grows with the number; `None` where texts are short by nature.
    pub(crate) long: Option<fn(usize) -> String>,
}

pub(crate) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// xorshift: the same draws every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit.max(1)).expect("a length");
        usize::try_from(self.0 % limit).expect("below the limit")
    }
}

const WORDS: [&str; 24] = [
    "null",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "1e999",
    "99999999999999999999",
    "0x1f",
    "&a ",
    "*a",
    "<<: *a\n",
    "- ",
    "\u{0}",
    "\u{feff}",
    "ä",
    "\r\n",
    "\t",
    "---\n",
    "%",
    "Never",
    "Ei",
    "${NAME}",
    "{{",
    ": ",
];

/// A text that is nearly one of the corpus.
fn mutated(corpus: &[String], draw: &mut Draw) -> String {
    let mut text = corpus[draw.below(corpus.len())].clone().into_bytes();
    for _ in 0..=draw.below(6) {
        let (from, to) = (draw.below(text.len() + 1), draw.below(text.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match draw.below(6) {
            0 => drop(text.drain(from..to.min(from + 40))),
            1 => {
                let part = text[from..to.min(from + 200)].to_vec();
                drop(text.splice(to..to, part));
            }
            2 => drop(text.splice(from..from, WORDS[draw.below(WORDS.len())].bytes())),
            3 if from < text.len() => text[from] = u8::try_from(draw.below(256)).expect("a byte"),
            4 => text.truncate(to),
            _ => {
                let other = corpus[draw.below(corpus.len())].as_bytes();
                let at = draw.below(other.len());
                let part = other[at..other.len().min(at + 120)].to_vec();
                drop(text.splice(from..to.min(from + 20), part));
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// How long this thread has run: a machine that is busy with other things does not count.
fn ran() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// For how long `text` is parsed, again and again until the clock, which ticks in milliseconds, has
/// moved far enough.
fn time(parse: fn(&str), text: &str) -> Duration {
    let started = ran();
    let mut times = 0;
    loop {
        parse(text);
        times += 1;
        let spent = ran().saturating_sub(started);
        if spent >= Duration::from_millis(60) || times >= 20_000 {
            return spent / times;
        }
    }
}

/// Nothing that is nearly right panics.
pub(crate) fn no_text_panics(targets: Vec<Target>) {
    let seconds = tests::variable("JOURNEYMAN_FUZZ_SECONDS");
    for target in targets {
        let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
        let (started, before) = (Instant::now(), ran());
        let (mut count, mut bytes) = (0_u64, 0_usize);
        let goes_on = |count: u64| match seconds {
            Some(seconds) => started.elapsed() < Duration::from_secs(seconds),
            None => count < 150,
        };
        target.corpus.iter().for_each(|text| (target.parse)(text));
        while goes_on(count) {
            let text = mutated(&target.corpus, &mut draw);
            (target.parse)(&text);
            count += 1;
            bytes += text.len();
        }
        let spent = ran().saturating_sub(before).as_nanos();
        let each = spent / u128::try_from(bytes.max(1)).expect("a length");
        println!("{}: {count} texts, {bytes} bytes, {each} ns per byte", target.name);
    }
}

/// A text of eight times the length takes about eight times as long.
pub(crate) fn no_text_takes_time_that_grows_faster_than_it(targets: Vec<Target>) {
    for Target { name, parse, long, .. } in targets {
        let Some(long) = long else { continue };
        let (short, long) = (long(250), long(2_000));
        let (duration, other) = (time(parse, &short), time(parse, &long));
        let growth = other.as_nanos() * u128::try_from(short.len()).expect("a length")
            / (duration.as_nanos() * u128::try_from(long.len()).expect("a length")).max(1);
        let each = other.as_nanos() / u128::try_from(long.len()).expect("a length");
        println!(
            "{name}: {} bytes, {each} ns per byte, {growth} times those of {} bytes",
            long.len(),
            short.len()
        );
        // Eight times the text: what is quadratic takes eight times as long for each byte.
        assert!(
            growth < 5,
            "{name}: a byte of {} costs {growth} times one of {}",
            long.len(),
            short.len()
        );
    }
}
