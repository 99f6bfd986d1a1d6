//! How long requests take, beside the latency of a step that every call has.

use jiff::SignedDuration;

use super::{ApiAction, ApiService, costs::Requests};
use crate::chance::{Chance, Span};

/// How long one request takes, by kind.
///
/// No service publishes these; they are what its clients see on a usual day, and a scenario can change
/// each. Kubernetes states that 99 of 100 lists of one kind answer within 30 seconds
/// (<https://github.com/kubernetes/community/blob/master/sig-scalability/slos/api_call_latency.md>):
/// 100,000 pods are 200 pages, and take 20 seconds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// One page of a list of the API server, beside its objects. Default: 10 to 40 ms.
    pub kubernetes_page: Span,
    /// What each object of a list adds. Default: 150 µs.
    pub kubernetes_object: SignedDuration,
    /// Any other request to the API server. Default: 5 to 25 ms.
    pub kubernetes_request: Span,
    /// A request of EC2 that only asks. Default: 80 to 300 ms.
    pub ec2_read: Span,
    /// A request of EC2 that changes something. Default: 150 to 600 ms.
    pub ec2_write: Span,
    /// A CreateFleet request, which answers when all of its instances are there, beside these. Default: 1.5 to 4 s.
    pub create_fleet: Span,
    /// What each instance of a CreateFleet request adds. Default: 50 ms, so 5 s for 100.
    pub fleet_instance: SignedDuration,
    /// A request of DynamoDB for some items. Default: 3 to 12 ms
    /// (<https://aws.amazon.com/dynamodb/features/>: single-digit milliseconds).
    pub dynamodb_request: Span,
    /// One page of a query of DynamoDB, at most 1 MB. Default: 10 to 60 ms.
    pub dynamodb_page: Span,
    /// A request of any other service. Default: 20 to 80 ms.
    pub other_request: Span,
    /// From the API server to the function URL of `wake` and back, beside what the function takes. Default: 8 to 30 ms.
    ///
    /// A warm function that does nothing answers at its URL in 8.35 ms
    /// (<https://aaronstuyvenberg.com/posts/introduction-function-urls>).
    pub function_url: Span,
    /// What a call takes longer for which there is no warm process. Default: 100 to 400 ms.
    ///
    /// A cold start takes from under 100 ms to over a second
    /// (<https://docs.aws.amazon.com/lambda/latest/operatorguide/execution-environments.html>). Of that a small
    /// function in Rust needs 18 to 22 ms itself
    /// (<https://fulgurion.com/blog/posts/rust-on-aws-lambda-cold-start/>).
    pub cold_start: Span,
    /// From kube-scheduler finding no node for a pod to its event reaching the API server: another goroutine sends it.
    /// Default: 1 to 20 ms.
    pub event: Span,
}

impl Latencies {
    /// No request takes longer than its step.
    pub const NONE: Self = {
        let none = Span::from_millis(0, 0);
        Self {
            kubernetes_page: none,
            kubernetes_object: SignedDuration::ZERO,
            kubernetes_request: none,
            ec2_read: none,
            ec2_write: none,
            create_fleet: none,
            fleet_instance: SignedDuration::ZERO,
            dynamodb_request: none,
            dynamodb_page: none,
            other_request: none,
            function_url: none,
            cold_start: none,
            event: none,
        }
    };

    fn of(&self, action: ApiAction) -> Span {
        match (action.service, action.name) {
            (ApiService::Kubernetes, name) if name.starts_with("list ") => self.kubernetes_page,
            (ApiService::Kubernetes, _) => self.kubernetes_request,
            (ApiService::Ec2, "CreateFleet") => self.create_fleet,
            (ApiService::Ec2, _) if action.is_read() => self.ec2_read,
            (ApiService::Ec2, _) => self.ec2_write,
            (ApiService::DynamoDb, "Query") => self.dynamodb_page,
            (ApiService::DynamoDb, _) => self.dynamodb_request,
            _ => self.other_request,
        }
    }

    /// How long `requests` take, as many at the same time as they say.
    pub(crate) fn draw(&self, requests: Requests, chance: &mut Chance) -> SignedDuration {
        let Requests { action, count, objects, at_once } = requests;
        let span = self.of(action);
        let times = |duration: SignedDuration, count: u64| {
            duration.saturating_mul(i32::try_from(count).unwrap_or(i32::MAX))
        };
        // Of many requests the mean counts, so one draw stands for all of them.
        let answered = if span.max == SignedDuration::ZERO {
            SignedDuration::ZERO
        } else {
            times(chance.within(span), count.div_ceil(at_once.max(1)))
        };
        let object = match action.service {
            ApiService::Ec2 => self.fleet_instance,
            _ => self.kubernetes_object,
        };
        answered.saturating_add(times(object, objects))
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            kubernetes_page: Span::from_millis(10, 40),
            kubernetes_object: SignedDuration::from_micros(150),
            kubernetes_request: Span::from_millis(5, 25),
            ec2_read: Span::from_millis(80, 300),
            ec2_write: Span::from_millis(150, 600),
            create_fleet: Span::from_millis(1_500, 4_000),
            fleet_instance: SignedDuration::from_millis(50),
            dynamodb_request: Span::from_millis(3, 12),
            dynamodb_page: Span::from_millis(10, 60),
            other_request: Span::from_millis(20, 80),
            function_url: Span::from_millis(8, 30),
            cold_start: Span::from_millis(100, 400),
            event: Span::from_millis(1, 20),
        }
    }
}
