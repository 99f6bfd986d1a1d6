//! Every command of `journeyman` in a terminal, as a person runs it: there it draws how far it is
//! while it prints, and must neither stop nor garble what it says.

// With the clients of Kubernetes and AWS some of these calls would look for a cluster or an account: `connected` has those.
#![cfg(not(feature = "live"))]
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail loudly")]

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use clap::CommandFactory as _;
use journeyman::args::Args;
use rustix::{
    fs::{Mode, OFlags},
    pty::{self, OpenptFlags},
    termios::{self, Winsize},
};

mod options;
mod screens;

/// Much longer than any command here takes, on the slowest of machines.
const TIME_MAX: Duration = Duration::from_mins(2);

/// What most people's terminals measure.
const WINDOW: Winsize = window(80);

const fn window(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

const CLUSTER: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general, uid: 00000000-0000-0000-0000-000000000001}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default, generation: 2}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
status:
  subnets: [{id: subnet-0a, zone: us-west-2a, zoneID: usw2-az1}]
  securityGroups: [{id: sg-0a, name: nodes}]
  amis:
  - {id: ami-0a, name: al2023, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
  instanceProfile: golden_1
  conditions:
  - {type: Ready, status: \"True\", reason: Ready, message: '', observedGeneration: 2,
     lastTransitionTime: 2026-08-01T12:00:00Z}
";

const PODS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, resources: {requests: {cpu: 800m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: misspelled}
spec: {containers: [{name: web, resources: {requests: {cpu: 1O0m}}}]}
";

const FACTS: &str = r#"{
  "name": "golden", "endpoint": "https://golden.example", "caBundle": "Z29sZGVu",
  "serviceCIDR": "10.100.0.0/16", "dnsIP": "10.100.0.10", "kubernetesVersion": "1.34",
  "region": "us-west-2", "subnets": [{"id": "subnet-0a", "availableIpAddressCount": 100}],
  "placementGroups": [], "capacityReservations": []
}"#;

/// How a command is called, and what comes of it.
struct Call {
    arguments: &'static str,
    exit_code: i32,
    /// What is written to standard error.
    complaint: &'static str,
    /// What is written to standard output.
    answer: &'static str,
}

const fn answers(arguments: &'static str, answer: &'static str) -> Call {
    Call { arguments, exit_code: 0, complaint: "", answer }
}

const fn complains(arguments: &'static str, exit_code: i32, complaint: &'static str) -> Call {
    Call { arguments, exit_code, complaint, answer: "" }
}

/// What is said of an object that cannot be read.
const MISSPELLED: &str =
    "pods.yaml:9: Pod misspelled: spec.containers[0].resources.requests.cpu: `1O0m`";

/// Calls of every command, in a folder with [`FILES`].
const CALLS: &[Call] = &[
    answers("simulate --duration 5m", "100 pods"),
    answers("simulate --duration 5m -o json", "podsPlaced"),
    answers("simulate --duration 1m --html report.html", "100 pods"),
    answers("plan cluster.yaml --html report.html", "No pod needs a node."),
    complains("plan cluster.yaml --html nowhere/report.html", 2, "--html nowhere/report.html: "),
    complains("simulate --manifests nowhere", 2, "nowhere"),
    answers("plan cluster.yaml", "No pod needs a node."),
    Call { answer: "m7i.large", ..complains("plan cluster.yaml pods.yaml", 1, MISSPELLED) },
    Call { answer: "web", ..complains("plan cluster.yaml pods.yaml -o json", 1, MISSPELLED) },
    Call { answer: "web", ..complains("plan cluster.yaml pods.yaml -o yaml", 1, MISSPELLED) },
    complains("plan cluster.yaml pods.yaml --strict", 1, MISSPELLED),
    complains("plan cluster.yaml pods.yaml --disruption", 1, MISSPELLED),
    complains("plan nowhere", 2, "nowhere"),
    // What needs the clients says how to build them in.
    complains("plan --live", 2, "journeyman plan --live: not in this build"),
    complains("local --data pods.yaml --control-plane ./nowhere", 2, "cargo build -p cli"),
    complains("shadow nowhere", 2, "nowhere"),
    answers("validate cluster.yaml", "nothing is wrong"),
    answers("hash cluster.yaml", "NodePool/general"),
    answers("convert older.yaml", "karpenter.sh/v1"),
    answers("crds", "CustomResourceDefinition"),
    answers("rbac --pod-deletion-costs", "journeyman-pod-deletion-costs"),
    answers("template", "AWS::Serverless::Function"),
    complains("explain pod web --ledger ./nowhere", 2, "No such file"),
    answers("explain reason SpotToSpot", "What to do: "),
    answers("explain reason", "BudgetSpent"),
    complains("explain reason SpotToSport", 1, "did you mean SpotToSpot?"),
    complains("get nodes --ledger ./nowhere", 2, "No such file"),
    complains("get decisions --ledger ./nowhere", 2, "No such file"),
    complains("replay 0f3a --ledger ./nowhere", 2, "No such file"),
    complains("uninstall demo", 2, "journeyman uninstall: not in this build"),
    complains("adopt demo", 2, "journeyman adopt: not in this build"),
    complains("release demo", 2, "journeyman release: not in this build"),
    complains("deploy demo --bucket a", 2, "journeyman deploy: not in this build"),
    complains("upgrade demo --bucket a", 2, "journeyman upgrade: not in this build"),
    complains("rollback demo", 2, "journeyman rollback: not in this build"),
    complains("install demo", 2, "journeyman install: not in this build"),
    complains("doctor demo", 2, "journeyman doctor: not in this build"),
    answers("render cluster.yaml --cluster-facts facts.json", "ami-0a"),
    answers("catalog --limit 3", "3 of "),
    answers("completions bash", "_journeyman()"),
    answers("man pages", "The pages are in pages."),
    answers("version", concat!("journeyman ", env!("CARGO_PKG_VERSION"))),
];

/// What the calls read.
const FILES: &[(&str, &str)] = &[
    ("cluster.yaml", CLUSTER),
    ("pods.yaml", PODS),
    ("facts.json", FACTS),
    ("older.yaml", include_str!("../../../shared/api/tests/convert/v1beta1-getting-started.yaml")),
];

/// A terminal that a person would look at.
struct Terminal {
    /// The person's end.
    screen: File,
    /// The program's end.
    line: File,
}

impl Terminal {
    fn open() -> Self {
        Self::of(WINDOW)
    }

    fn of(window: Winsize) -> Self {
        let screen = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        pty::grantpt(&screen).expect("a terminal of one's own");
        pty::unlockpt(&screen).expect("a terminal that can be opened");
        let name = pty::ptsname(&screen, Vec::new()).expect("its path");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let line = rustix::fs::open(name, flags, Mode::empty()).expect("its other end");
        termios::tcsetwinsize(&line, window).expect("its size");
        Self { screen: screen.into(), line: line.into() }
    }

    /// The program's end once more.
    fn line(&self) -> Stdio {
        self.line.try_clone().expect("an end of the terminal").into()
    }

    /// What was on the screen when `command` had ended, and its exit code.
    fn run(self, command: &mut Command) -> (String, Option<i32>) {
        let mut child = command.spawn().expect("the command starts");
        // Only the program itself may hold its end open.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Self { screen, line } = self;
        drop(line);
        let seen = seen(screen);
        match seen.recv_timeout(TIME_MAX) {
            Ok(text) => (text, child.wait().expect("it ended").code()),
            Err(_) => stuck(command, &mut child, &seen),
        }
    }
}

/// All that is ever written to `screen`, once all writers have closed it.
fn seen(mut screen: File) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        // Linux says EIO where others say the end, now and then before the last that was written is there to be read
        // (`n_tty_read` looks for more, and only then whether the other end is closed). A read after that has it.
        for _ in 0..2 {
            let _ended = screen.read_to_end(&mut text);
        }
        // The test may wait no longer.
        let _ended = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    receiver
}

fn stuck(command: &Command, child: &mut Child, seen: &mpsc::Receiver<String>) -> ! {
    child.kill().expect("it can be ended");
    child.wait().expect("it was ended");
    let text = seen.recv().expect("what it wrote until then");
    panic!("{command:?} did not end within {TIME_MAX:?}; it had written\n{text}");
}

/// A folder of this test with what the calls read.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder for the test");
    for (file, text) in FILES {
        fs::write(folder.join(file), text).expect("a file of the test");
    }
    folder
}

fn journeyman(call: &Call, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(call.arguments.split(' ')).current_dir(folder);
    // Whatever cluster is current here, no test is about it.
    command.env("KUBECONFIG", "none");
    command.env("JOURNEYMAN_WAKE_KEY", "0123456789abcdef0123456789abcdef");
    // Whatever runs the tests, their terminals can draw.
    command.env("TERM", "xterm-256color");
    command
}

#[test]
fn d1_every_command_answers_and_ends_in_a_terminal() {
    let folder = folder("terminal");
    for call in CALLS {
        let terminal = Terminal::open();
        let mut command = journeyman(call, &folder);
        command.stdin(terminal.line()).stdout(terminal.line()).stderr(terminal.line());
        let (screen, code) = terminal.run(&mut command);
        assert_eq!(code, Some(call.exit_code), "{}\n{screen}", call.arguments);
        for said in [call.answer, call.complaint] {
            assert!(screen.contains(said), "{}: no `{said}` in\n{screen}", call.arguments);
        }
    }
}

#[test]
fn d1_every_command_ends_in_a_terminal_when_its_answer_goes_to_a_file() {
    let folder = folder("terminal-and-file");
    for call in CALLS {
        let path = folder.join("answer");
        let terminal = Terminal::open();
        let mut command = journeyman(call, &folder);
        command.stdin(terminal.line()).stderr(terminal.line());
        command.stdout(File::create(&path).expect("a file of the test"));
        let (screen, code) = terminal.run(&mut command);
        assert_eq!(code, Some(call.exit_code), "{}\n{screen}", call.arguments);
        let answer = fs::read_to_string(&path).expect("what was answered");
        for (text, said) in [(&screen, call.complaint), (&answer, call.answer)] {
            assert!(text.contains(said), "{}: no `{said}` in\n{text}", call.arguments);
        }
    }
}

/// What is seen when `call` answers in a window that is `columns` wide, with these variables.
fn screen_of(call: &Call, folder: &Path, columns: u16, variables: &[(&str, &str)]) -> String {
    let terminal = Terminal::of(window(columns));
    let mut command = journeyman(call, folder);
    command.env_remove("NO_COLOR").envs(variables.iter().copied());
    // What is drawn over on standard error is another matter.
    command.stdin(terminal.line()).stdout(terminal.line()).stderr(Stdio::null());
    let (screen, code) = terminal.run(&mut command);
    assert_eq!(code, Some(call.exit_code), "{}\n{screen}", call.arguments);
    screen
}

/// `text` without what only switches colors.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    rest.fold(first, |text, part| text + part)
}

/// Commands that print what others made: manifests, definitions, user data, JSON.
fn is_text_of_others(arguments: &str) -> bool {
    ["convert", "crds", "rbac", "render", "template", "completions"]
        .iter()
        .any(|command| arguments.starts_with(command))
        || arguments.contains("-o ")
}

#[test]
fn d1_no_line_of_an_answer_is_longer_than_the_window() {
    let folder = folder("terminal-widths");
    for call in CALLS.iter().filter(|call| !is_text_of_others(call.arguments)) {
        for columns in [40, 80, 200] {
            let screen = without_colors(&screen_of(call, &folder, columns, &[]));
            for line in screen.lines() {
                let width = line.trim_end().chars().count();
                assert!(width <= usize::from(columns), "{}: {line}\n{screen}", call.arguments);
            }
        }
    }
}

#[test]
fn w1_no_complaint_is_longer_than_the_window() {
    let folder = folder("terminal-complaints");
    let calls = [
        complains("plan cluster.yaml pods.yaml", 1, ""),
        complains("plan nowhere-at-all-and-with-a-name-that-no-window-has-room-for", 2, ""),
        complains("simulate --manifests cluster.yaml pods.yaml", 2, ""),
        complains("validate cluster.yaml pods.yaml nowhere-at-all-and-with-a-long-name", 2, ""),
        complains("catalog --where arch", 2, ""),
    ];
    for call in calls {
        for columns in [40, 80] {
            let terminal = Terminal::of(window(columns));
            let mut command = journeyman(&call, &folder);
            command.stdin(terminal.line()).stdout(Stdio::null()).stderr(terminal.line());
            let (screen, code) = terminal.run(&mut command);
            assert_eq!(code, Some(call.exit_code), "{}\n{screen}", call.arguments);
            for line in screen.lines().filter(|line| !line.contains('\u{1b}')) {
                let width = line.trim_end().chars().count();
                assert!(width <= usize::from(columns), "{}: {line}\n{screen}", call.arguments);
            }
        }
    }
}

#[test]
fn d18_colors_go_when_the_terminal_has_none_or_the_user_wants_none() {
    let folder = folder("terminal-colors");
    let is_table = |call: &&Call| call.arguments == "plan cluster.yaml pods.yaml";
    let call = CALLS.iter().find(is_table).expect("a table");
    assert!(screen_of(call, &folder, 80, &[]).contains("\u{1b}[1m"), "colors are for terminals");
    for variables in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for call in CALLS {
            let screen = screen_of(call, &folder, 80, &[variables]);
            assert!(!screen.contains('\u{1b}'), "{} {variables:?}: {screen}", call.arguments);
        }
    }
}

#[test]
fn errors_look_alike_wherever_they_are_found() {
    let folder = folder("terminal-errors");
    // The first is about the arguments, the others are about what is read.
    for arguments in ["explian", "plan nowhere", "explain pod web --ledger ./nowhere"] {
        for (variables, mark) in [
            (("NO_COLOR", ""), "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "),
            (("NO_COLOR", "1"), "error: "),
        ] {
            let call = complains(arguments, 2, "");
            let terminal = Terminal::of(window(80));
            let mut command = journeyman(&call, &folder);
            command.envs([variables]);
            command.stdin(terminal.line()).stdout(Stdio::null()).stderr(terminal.line());
            let (screen, code) = terminal.run(&mut command);
            assert_eq!(code, Some(2), "{arguments}\n{screen}");
            // What was drawn before is drawn over.
            let last = screen.rsplit("\u{1b}[2K").next().unwrap_or_default();
            assert!(last.trim_start().starts_with(mark), "{arguments}: {screen:?}");
        }
    }
}

/// `command` as a shell in a terminal starts it. Running the tests in the background of a script
/// makes them ignore Ctrl-C, and every program that they start.
fn interruptible(command: Command) -> Command {
    // <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>: a bit for each signal, from 1 on.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .map(|mask| u64::from_str_radix(mask.trim(), 16).expect("a mask"));
    if ignored.is_none_or(|mask| mask & (1 << 1) == 0) {
        return command;
    }
    let mut reset = Command::new("env");
    reset.arg("--default-signal=INT").arg(command.get_program()).args(command.get_args());
    reset.current_dir(command.get_current_dir().expect("the folder of the test"));
    reset.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    reset
}

#[test]
fn d1_ctrl_c_ends_a_command_at_once() {
    let folder = folder("terminal-interrupt");
    let calls = [answers("simulate --duration 2000h", ""), answers("plan -", "")];
    for call in calls {
        let terminal = Terminal::open();
        let mut command = interruptible(journeyman(&call, &folder));
        command.stdin(Stdio::piped()).stdout(terminal.line()).stderr(terminal.line());
        let mut child = command.spawn().expect("the command starts");
        // Only the program itself may hold its end open.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let Terminal { mut screen, line } = terminal;
        drop(line);
        // It is at work once it draws how far it is.
        screen.read_exact(&mut [0]).expect("something is drawn");
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).expect("a signal");
        let seen = seen(screen);
        if seen.recv_timeout(TIME_MAX).is_err() {
            stuck(&command, &mut child, &seen);
        }
        let status = child.wait().expect("it ended");
        assert!(!status.success(), "{}: {status:?}", call.arguments);
    }
}

#[test]
fn no_command_is_left_out() {
    let command = Args::command();
    let known: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let called: BTreeSet<&str> =
        CALLS.iter().filter_map(|call| call.arguments.split(' ').next()).collect();
    assert_eq!(called, known);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a busy machine takes longer than a second")]
fn a_command_that_is_silent_for_a_second_draws_what_it_does() {
    let folder = folder("terminal-progress");
    // The second is over long before the first, which waits for input that never comes.
    let (input, _writer) = std::io::pipe().expect("a pipe");
    let call = answers("validate -", "");
    let Terminal { mut screen, line } = Terminal::open();
    let mut command = journeyman(&call, &folder);
    command.stdin(input).stdout(Stdio::null());
    command.stderr(line.try_clone().expect("an end of the terminal"));
    let mut child = command.spawn().expect("the command starts");
    let mut drawn = String::new();
    while !drawn.contains("reading") {
        let mut part = [0; 64];
        let length = screen.read(&mut part).expect("something is drawn");
        drawn.push_str(&String::from_utf8_lossy(&part[..length]));
    }
    child.kill().expect("it can be ended");
    child.wait().expect("it was ended");
    let started = Instant::now();
    let quick = screen_and_complaints("validate cluster.yaml", &folder);
    let is_quick = started.elapsed() < Duration::from_secs(1);
    assert!(!is_quick || !quick.contains("reading"), "{quick}");
}

/// What is drawn and printed by a command that is fast.
fn screen_and_complaints(arguments: &'static str, folder: &Path) -> String {
    let terminal = Terminal::open();
    let mut command = journeyman(&answers(arguments, ""), folder);
    command.stdin(terminal.line()).stdout(terminal.line()).stderr(terminal.line());
    terminal.run(&mut command).0
}
