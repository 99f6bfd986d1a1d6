//! Whether the API server calls `wake`: [`api::probe`].

use api::probe;
use http::{HeaderMap, header::WARNING};
use kube::{api::PostParams, core::Request};
use model::{labels::MANAGER, wake::ProbeAnswer};
use ports::PortError;

use crate::{KubeCluster, call::Effect};

const PROBE: &str = "probe wake";

impl KubeCluster {
    /// Tries to create the event. It changes nothing, so that what is lost on the way may be tried again.
    pub(crate) async fn probe(&self) -> Result<ProbeAnswer, PortError> {
        let params = PostParams { dry_run: true, field_manager: Some(MANAGER.to_owned()) };
        let request =
            Request::new(probe::PATH).create(&params, probe::event().to_string().into_bytes());
        match self.headers(request).await {
            Ok(headers) if has_warning(&headers) => Ok(ProbeAnswer::Answered),
            Ok(_) => Ok(ProbeAnswer::Silent),
            Err(error) => Err(error.into_port_error(PROBE, Effect::Reads)),
        }
    }
}

/// Whether a header `Warning` is the one of `wake`.
fn has_warning(headers: &HeaderMap) -> bool {
    let texts = headers.get_all(WARNING).iter().filter_map(|value| value.to_str().ok());
    texts.into_iter().any(probe::is_of_wake)
}
