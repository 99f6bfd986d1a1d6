//! What a task costs, each in a process of its own: seconds of CPU, and the most memory.

use std::{
    env, fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Something that is measured.
pub(crate) struct Task {
    /// What is printed.
    pub(crate) name: &'static str,
    /// Does it with the files; how many objects it has read.
    pub(crate) run: fn(&[PathBuf]) -> usize,
}

/// Runs every task with `files` three times, each in a process of its own, and prints the best.
/// In such a process, does what it was started for and ends.
pub(crate) fn print(tasks: &[Task], files: &dyn Fn(&Path) -> Vec<PathBuf>, directory: &Path) {
    let arguments: Vec<String> = env::args().collect();
    if let [_, first, name, rest @ ..] = arguments.as_slice()
        && first == "measured"
    {
        let task = tasks.iter().find(|task| task.name == name).expect("a task");
        let files: Vec<PathBuf> = rest.iter().map(PathBuf::from).collect();
        let before = cpu_nanoseconds();
        let count = (task.run)(&files);
        let spent = (cpu_nanoseconds() - before) / 1_000_000;
        println!("{count} objects {spent} ms CPU {} MB", peak_megabytes());
        return;
    }
    let files = files(directory);
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).expect("a file").len()).sum();
    println!("{} files, {} MB", files.len(), bytes / 1_000_000);
    for task in tasks {
        let run = |_| {
            let mut command = Command::new(env::current_exe().expect("this program"));
            command.arg("measured").arg(task.name).args(&files);
            let output = command.output().expect("this program can be started");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).expect("a text");
            let cpu = text.split(' ').nth(2).and_then(|text| text.parse::<u64>().ok());
            (cpu.expect("a number"), text)
        };
        let (_, best) = (0..3).map(run).min().expect("three runs");
        print!("{}: {best}", task.name);
    }
    fs::remove_dir_all(directory).expect("the files can be removed");
}

/// Reads `file` into `body`, which is used again and again.
pub(crate) fn read(file: &Path, body: &mut Vec<u8>) {
    body.clear();
    let mut file = fs::File::open(file).expect("a page");
    file.read_to_end(body).expect("a page");
}

/// Of this thread: what waits for a processor does not count.
fn cpu_nanoseconds() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split_whitespace().next().and_then(|text| text.parse().ok()).expect("a number")
}

fn peak_megabytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kibibytes = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kibibytes * 1024 / 1_000_000
}
