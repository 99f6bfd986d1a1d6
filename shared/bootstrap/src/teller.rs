//! What calls counted, told to CloudWatch and to a collector of OpenTelemetry.

use std::cell::RefCell;

use aws::OtlpCollector;
use handlers::{MetricDimensions, Sample};
use serde_json::Value;

use crate::{
    embedded::Embedder,
    metrics,
    otlp::{self, Span},
};

/// Tells what calls counted.
#[derive(Debug)]
pub(crate) struct Teller {
    dimensions: MetricDimensions,
    embedder: RefCell<Embedder>,
    collector: Option<OtlpCollector>,
}

impl Teller {
    pub(crate) fn new(dimensions: MetricDimensions, collector: Option<OtlpCollector>) -> Self {
        Self { dimensions, embedder: RefCell::default(), collector }
    }

    /// Tells `samples` and the call `span`. Nothing fails with what cannot be told.
    pub(crate) async fn tell(&self, samples: &[Sample], span: &Span<'_>) {
        self.write(samples, span);
        let Some(collector) = &self.collector else { return };
        let metrics = async {
            if !samples.is_empty() {
                post(collector, otlp::METRICS_PATH, &otlp::metrics(samples, span)).await;
            }
        };
        let traces = otlp::traces(span);
        // Side by side: one that does not answer is waited for once.
        tokio::join!(metrics, post(collector, otlp::TRACES_PATH, &traces));
    }

    fn write(&self, samples: &[Sample], span: &Span<'_>) {
        let place = (span.cluster, span.function);
        let mut embedder = self.embedder.borrow_mut();
        for line in embedder.lines(samples, self.dimensions, place, span.ended_at) {
            metrics::write(&line);
        }
    }
}

async fn post(collector: &OtlpCollector, path: &str, body: &Value) {
    if let Err(error) = collector.post(path, body).await {
        let story = handlers::story(&error);
        tracing::warn!(path, story, "the collector was not told");
    }
}

#[cfg(test)]
mod tests;
