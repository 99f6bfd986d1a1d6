//! What functions, account and machines say, each as one line.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use jiff::Timestamp;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    Layer, filter::Targets, layer::Context, layer::SubscriberExt as _, registry::LookupSpan,
    util::SubscriberInitExt as _,
};

/// Our crates that write lines.
const OURS: [&str; 6] = ["cluster", "handlers", "launch_template", "local", "planner", "wire"];

/// Who says what no function does.
const ACCOUNT: &str = "account";
/// Who says what machines do.
pub(crate) const MACHINES: &str = "machines";

/// Whether the cluster ends: what fails from then on fails for want of it.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// From now on nothing is printed.
pub(crate) fn be_silent() {
    IS_OVER.store(true, Ordering::Relaxed);
}

/// What a function or controller says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: Timestamp,
    /// Who: a function, `machines` or `account`.
    pub who: String,
    /// Whether it is a warning or an error.
    pub is_bad: bool,
    /// What.
    pub text: String,
}

/// From now on `tell` hears every line of this process, and each is added to `<who>.log` in `directory`. A caller that
/// came first stays: a second call changes nothing.
pub fn log_to(directory: Option<&Path>, tell: impl Fn(&LogLine) + Send + Sync + 'static) {
    let directory = directory.map(Path::to_owned);
    let ours = Targets::new().with_targets(OURS.map(|name| (name, Level::INFO)));
    let lines = Lines { directory, tell: Box::new(tell) };
    // A process that has a log already keeps it.
    drop(tracing_subscriber::registry().with(lines).with(ours).try_init());
}

struct Lines {
    directory: Option<PathBuf>,
    tell: Box<dyn Fn(&LogLine) + Send + Sync>,
}

/// Whose span it is.
struct Caller(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut read = Words::default();
        attributes.record(&mut read);
        if let (Some(span), Some(who)) = (context.span(id), read.who) {
            span.extensions_mut().insert(Caller(who));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if IS_OVER.load(Ordering::Relaxed) {
            return;
        }
        let mut read = Words::default();
        event.record(&mut read);
        let scope = context.event_scope(event).into_iter().flatten();
        let caller = |span: tracing_subscriber::registry::SpanRef<'_, S>| {
            span.extensions().get::<Caller>().map(|caller| caller.0.clone())
        };
        let line = LogLine {
            at: present(),
            who: scope.filter_map(caller).last().unwrap_or_else(|| ACCOUNT.to_owned()),
            is_bad: *event.metadata().level() <= Level::WARN,
            text: read.text.trim_start().to_owned(),
        };
        (self.tell)(&line);
        self.keep(&line);
    }
}

impl Lines {
    fn keep(&self, line: &LogLine) {
        let Some(directory) = &self.directory else { return };
        let path = directory.join(format!("{}.log", line.who));
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        // What cannot be kept was told.
        drop(file.and_then(|mut file| writeln!(file, "{} {}", line.at, line.text)));
    }
}

/// The fields of a line: the message first, then the others by name.
#[derive(Default)]
struct Words {
    who: Option<String>,
    text: String,
}

impl Words {
    fn add(&mut self, field: &Field, value: &str) {
        match field.name() {
            "who" => self.who = Some(value.to_owned()),
            "message" => self.text.insert_str(0, value),
            name => self.text.extend([" ", name, "=", value]),
        }
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        if write!(text, "{value:?}").is_ok() {
            self.add(field, &text);
        }
    }
}

/// The clock of the API server, which is this machine's.
#[expect(clippy::disallowed_methods, reason = "a real control plane takes real time")]
pub(crate) fn present() -> Timestamp {
    Timestamp::now()
}

/// Those who may say something, as files are called.
pub(crate) fn names() -> BTreeSet<String> {
    let functions = model::Function::ALL.iter().map(ToString::to_string);
    functions.chain([ACCOUNT.to_owned(), MACHINES.to_owned()]).collect()
}
