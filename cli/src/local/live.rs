//! The command in a build that has a Kubernetes client.

use std::{
    cell::RefCell,
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use dispatch::Settings;
use installer::live::{Manifests, RoleArgs};
use jiff::{SignedDuration, tz::TimeZone};
use local::{ApiServer, LocalOptions, LocalReady, LogLine};
use report::{
    error::{BadInput, CommandError},
    output,
    screen::Screen,
};
use serde_json::Value;
use simulator::Sim;

use super::{LocalArgs, LocalCommand};
use crate::{
    options,
    records::{self, PackedFacts},
};

/// Columns of who says a line: the longest function is called `provision`.
const WHO: usize = 9;

pub(super) fn run(
    args: &LocalArgs,
    screen: Screen,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let directory = match &args.data {
        Some(directory) => directory.clone(),
        None => cache(args)?.join("local"),
    };
    match &args.command {
        Some(LocalCommand::Reclaim { node }) => {
            local::reclaim(&directory, node).map_err(refused)?;
            screen
                .lines(&format!("EC2 takes back {node}: its instance ends in two minutes."), out)?;
        }
        Some(LocalCommand::Outage { zone, end }) => {
            local::set_outage(&directory, zone, !end).map_err(refused)?;
            let said = if *end { "has capacity again" } else { "is away" };
            screen.lines(&format!("{zone} {said}."), out)?;
        }
        None => start(args, directory, screen, out)?,
    }
    Ok(())
}

fn start(
    args: &LocalArgs,
    directory: PathBuf,
    screen: Screen,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let builtin = |error: &dyn std::fmt::Display| BadInput::one(format!("built-in types: {error}"));
    let catalog = instance_catalog::builtin().map_err(|error| builtin(&error))?;
    let mut settings = Settings::default();
    options::set_from_environment(&mut settings)?;
    args.set.apply(&mut settings, &[])?;
    let options = LocalOptions {
        directory,
        api_server: api_server(args)?,
        cluster: args.cluster_name.clone(),
        catalog: Arc::new(catalog),
        objects: Manifests::all(RoleArgs::of(&settings.policies)).map_err(BadInput::one)?,
        calls: (!args.no_wake).then_some(calls),
        settings,
        boot: duration("--boot", &args.boot)?,
        schedule: duration("--schedule", &args.schedule)?,
        port: args.port,
    };
    let told = move |line: &LogLine| tell(line, screen);
    let data = args.data.as_deref();
    let facts = RefCell::default();
    let write = |account: &Sim, path: &Path| write(account, path, &mut facts.borrow_mut());
    local::run(&options, told, |ready| welcome(ready, data, screen), write).map_err(refused)?;
    let ended = if args.kubeconfig.is_some() {
        "Ended. Definitions, roles, NodePools and EC2NodeClasses stay in the cluster; Nodes and NodeClaims \
         are gone."
    } else {
        "Ended. Nothing is left of it but the logs."
    };
    screen.lines(ended, out)?;
    Ok(())
}

/// As an installation has them, and with the authority that vouches for the certificate of a URL on this machine.
fn calls(url: &str, ca_bundle: &str) -> Vec<Value> {
    let mut objects = installer::wake::objects(url, &[]);
    let webhooks = objects.iter_mut().filter_map(|object| object.get_mut("webhooks"));
    for webhook in webhooks.filter_map(Value::as_array_mut).flatten() {
        if let Some(client) = webhook.get_mut("clientConfig").and_then(Value::as_object_mut) {
            client.insert("caBundle".to_owned(), ca_bundle.into());
        }
    }
    objects
}

/// Writes what the ledger of `account` holds. Readers find the last whole file. `facts` has what was written before:
/// functions wait on this thread.
fn write(account: &Sim, path: &Path, facts: &mut PackedFacts) -> Result<(), String> {
    let ledger = account.ledger();
    facts.update(&account.recorded_facts());
    let new = path.with_extension("new");
    records::write(&new, (account.now(), &ledger), &account.decisions(), facts)
        .map_err(|error| error.to_string())?;
    fs::rename(&new, path).map_err(|error| error.to_string())
}

/// What is wrong with a cluster that runs is said as what is wrong with the command's input.
#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
fn refused(error: local::LocalError) -> CommandError {
    BadInput::one(format!("journeyman local: {error}")).into()
}

/// A duration that is longer than nothing.
fn duration(what: &str, text: &str) -> Result<SignedDuration, BadInput> {
    match options::duration(what, text)? {
        SignedDuration::ZERO => Err(BadInput::one(format!("{what}: `{text}` must not be zero"))),
        duration => Ok(duration),
    }
}

fn cache(args: &LocalArgs) -> Result<PathBuf, BadInput> {
    let home = || env::home_dir().map(|home| home.join(".cache/journeyman"));
    let missing =
        || BadInput::one("journeyman local: this user has no home: give --data and --cache");
    args.cache.clone().or_else(home).ok_or_else(missing)
}

fn api_server(args: &LocalArgs) -> Result<ApiServer, BadInput> {
    if let Some(kubeconfig) = &args.kubeconfig {
        return Ok(ApiServer::Running(kubeconfig.clone()));
    }
    if let Some(program) = &args.control_plane {
        return Ok(ApiServer::Started(program.clone()));
    }
    let cache = cache(args)?;
    newest_control_plane(&cache).map(ApiServer::Started).ok_or_else(|| {
        BadInput::one(format!(
            "journeyman local: {}: no control plane is built here; tests/live/cluster build does it, or name \
             one by --control-plane, or another cluster by --kubeconfig",
            cache.display()
        ))
    })
}

/// The control plane that was built last, as `tests/live/emulators.sh` keeps it: one for each version of its
/// source, complete or not.
fn newest_control_plane(cache: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(cache).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let built = entries.filter_map(|directory| {
        let name = directory.file_name()?.to_str()?.to_owned();
        let complete = fs::metadata(directory.join(".complete")).ok()?;
        let program = directory.join("control-plane");
        (name.starts_with("control-plane-") && program.is_file())
            .then(|| (complete.modified().unwrap_or(SystemTime::UNIX_EPOCH), program))
    });
    built.max().map(|(_, program)| program)
}

/// Prints a line. If standard output is closed, the cluster runs on.
fn tell(line: &LogLine, screen: Screen) {
    let time = line.at.to_zoned(TimeZone::UTC).strftime("%H:%M:%S").to_string();
    let head = format!("{time} {:WHO$} ", line.who);
    let text = if line.is_bad { format!("! {}", line.text) } else { line.text.clone() };
    drop(screen.behind(&head, &text, &mut io::stdout().lock()));
}

/// Says what to do next, in lines that can be copied. `data` is the directory that the cluster was started with.
fn welcome(ready: &LocalReady, data: Option<&Path>, screen: Screen) {
    let LocalReady { kubeconfig, aws_endpoint, logs, ledger, after } = ready;
    let local = data.map_or_else(
        || "journeyman local".to_owned(),
        |data| format!("journeyman local --data {}", quoted(data)),
    );
    let lines = [
        (0, format!("Ready after {}. In another terminal:", output::seconds(*after))),
        (2, format!("export KUBECONFIG={}", quoted(kubeconfig))),
        (2, "kubectl apply -f examples/story   # a NodePool, an EC2NodeClass, 100 pods".to_owned()),
        (2, "kubectl get nodeclaims -o wide -w".to_owned()),
        (2, format!("{local} reclaim NODE     # EC2 takes a spot instance back")),
        (2, format!("{local} outage ZONE      # and its end: --end")),
        (0, "The simulated account answers for EC2, IAM, SSM, Pricing and EKS:".to_owned()),
        (2, format!("export AWS_ENDPOINT_URL={aws_endpoint} AWS_REGION=us-west-2")),
        (2, "export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test".to_owned()),
        (0, "What the functions decided, for explain, get and replay:".to_owned()),
        (2, format!("export JOURNEYMAN_LEDGER={}", quoted(ledger))),
        (0, format!("What each function says is in {}", logs.display())),
        (0, "Ctrl-C ends it.".to_owned()),
    ];
    let out = &mut io::stdout().lock();
    // If standard output is closed, the cluster runs on.
    drop(writeln!(out));
    for (indent, line) in lines {
        // Commands are copied: they are no text that may be broken.
        drop(match indent {
            0 => screen.text(indent, &line, out),
            _ => writeln!(out, "  {line}"),
        });
    }
    drop(writeln!(out));
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@,%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        let words = ["/tmp/a-b_c.d", "/tmp/a b", "it's", ""];
        let quoted = words.map(|path| quoted(path.as_ref()));
        assert_eq!(quoted, ["/tmp/a-b_c.d", "'/tmp/a b'", r"'it'\''s'", "''"]);
    }
}
