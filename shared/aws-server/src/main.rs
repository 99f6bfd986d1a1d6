//! `aws-server`: the built-in catalog's account over the wire, on this machine only.
//!
//! Virtual time follows the real one, faster if asked for. What tests may do to the account is below
//! `/_control/`; see `control.rs`.

use std::{process::ExitCode, rc::Rc, sync::Arc, time::Instant};

use aws_server::{AwsServer, listen, serve};
use clap::Parser;
use jiff::SignedDuration;
use simulator::{Sim, WorldSettings};

/// What can be said at the start.
#[derive(Debug, Parser)]
#[command(about = "The simulated AWS account, over the wire")]
struct Arguments {
    /// The port on 127.0.0.1; 0 is a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The name of the EKS cluster
    #[arg(long, default_value = "demo")]
    cluster: model::ClusterName,
    /// Virtual seconds that pass in one real second
    #[arg(long, default_value_t = 1)]
    speed: i32,
    /// Whether virtual time starts at the real one, and not on the day of the simulator's stories
    #[arg(long)]
    present: bool,
    /// What chance draws from
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(never) => match never {},
        Err(problem) => {
            say(&format!("aws-server: {problem}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<std::convert::Infallible, Box<dyn std::error::Error>> {
    let Arguments { port, cluster, speed, present: is_present, seed } = arguments;
    let mut settings =
        WorldSettings { cluster, seed, has_schedules: false, ..WorldSettings::default() };
    if is_present {
        settings.start = today();
    }
    let start = settings.start;
    let sim = Sim::new(settings, Arc::new(instance_catalog::builtin()?));
    let opened_at = present();
    let clock = move || {
        let elapsed = SignedDuration::try_from(present().duration_since(opened_at))
            .unwrap_or(SignedDuration::MAX)
            .saturating_mul(speed);
        start.checked_add(elapsed).unwrap_or(jiff::Timestamp::MAX)
    };
    let server = Rc::new(AwsServer::new(&sim).with_clock(clock));
    let (listener, url) = listen(port).await?;
    say(&format!("READY {url}"));
    Ok(tokio::task::LocalSet::new().run_until(serve(server, listener)).await)
}

#[expect(clippy::disallowed_methods, reason = "virtual time follows the real one")]
fn present() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "its callers compare with the real time")]
fn today() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[expect(clippy::print_stdout, reason = "its caller waits for this line")]
fn say(line: &str) {
    println!("{line}");
}
