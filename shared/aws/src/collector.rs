//! A collector of OpenTelemetry: a server that takes metrics and spans over HTTP as JSON.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        http::{HttpConnector as _, SharedHttpConnector},
        orchestrator::HttpRequest,
    },
};
use aws_smithy_types::body::SdkBody;
use ports::{Fault, PortError};
use serde_json::Value;

use crate::signing::connector;

const POST: &str = "POST of OTLP";
/// Callers do not wait longer: what is not sent within this time is lost.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A collector at an address. It is not signed to, so it is one of the network of the functions, or one that
/// takes what comes.
#[derive(Clone, Debug)]
pub struct OtlpCollector {
    /// `None` without a TLS stack, which this workspace always has.
    connector: Option<SharedHttpConnector>,
    endpoint: String,
}

impl OtlpCollector {
    /// The collector at `endpoint`, such as `http://collector.monitoring:4318`.
    pub(crate) fn new(config: &SdkConfig, endpoint: &str) -> Self {
        let connector = connector(config, TIMEOUT, TIMEOUT);
        Self { connector, endpoint: endpoint.trim_end_matches('/').to_owned() }
    }

    /// Sends `body` to `path`, once.
    ///
    /// # Errors
    ///
    /// Where nothing answers, or something refuses: what was sent may be lost then.
    pub async fn post(&self, path: &str, body: &Value) -> Result<(), PortError> {
        let connector =
            self.connector.as_ref().ok_or_else(|| PortError::new(POST, Fault::Permanent))?;
        let mut request = HttpRequest::new(SdkBody::from(body.to_string()));
        let url = format!("{}{path}", self.endpoint);
        let invalid = |error: BoxError| PortError::because(POST, Fault::Permanent, error);
        request.set_method("POST").map_err(|error| invalid(error.into()))?;
        request.set_uri(url).map_err(|error| invalid(error.into()))?;
        request.headers_mut().insert("content-type", "application/json");
        let answer = connector
            .call(request)
            .await
            .map_err(|error| PortError::because(POST, Fault::Unknown, error))?;
        match answer.status().as_u16() {
            200..=299 => Ok(()),
            status => {
                let why = format!("the collector answers {status}");
                Err(PortError::because(POST, Fault::Permanent, why))
            }
        }
    }
}
