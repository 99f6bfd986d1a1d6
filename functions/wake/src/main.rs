//! The Lambda function `wake`: the API server calls it, and it has functions look at once.

use handlers::WakeMemory;
use model::{Function, wake::AdmissionRequest};
use ports::Invocation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let platform = bootstrap::start(Function::Wake).await?;
    let (mailbox, memory) = (platform.mailbox(), WakeMemory::default());
    let handle = async |request: AdmissionRequest, at: &Invocation| {
        handlers::wake(&mailbox, &memory, &request, at).await
    };
    bootstrap::serve_url(&platform, handle).await
}
