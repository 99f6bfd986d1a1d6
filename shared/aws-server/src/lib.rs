//! The simulated account over the wire: EC2's query protocol, IAM's, SSM, Pricing and EKS, on
//! loopback, on the same account that the ports of `simulator` use.
//!
//! Whatever points its `AWS_ENDPOINT_URL` here (the adapters of `aws`, the deployed functions, a
//! command line) and whatever asks the ports sees one world. Rules of the simulator fail requests
//! here as they fail calls there: a call that fails before its effect is throttled, one whose
//! outcome is unknown gets no answer.
//!
//! Deliberately absent: TLS, signatures (every caller is trusted), and every operation that the
//! project does not use. What is not known is refused by its name, never ignored.

mod control;
mod ec2;
mod eks;
mod filter;
mod iam;
mod json;
mod page;
mod parameters;
mod reply;
mod server;
mod xml;

use std::{cell::RefCell, collections::BTreeMap, fmt};

use jiff::Timestamp;
use simulator::Sim;

pub use reply::Reply;
pub use server::{converse, listen, serve};

/// A request, as far as anybody looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Behind the question mark.
    pub query: String,
    /// The header `X-Amz-Target`.
    pub target: Option<String>,
    /// The content.
    pub body: Vec<u8>,
}

/// The AWS server to a simulated account.
pub struct AwsServer {
    sim: Sim,
    clock: Box<dyn Fn() -> Timestamp>,
    page_max: usize,
    endpoint: Option<String>,
    requests: RefCell<BTreeMap<String, u64>>,
}

impl fmt::Debug for AwsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsServer").field("page_max", &self.page_max).finish_non_exhaustive()
    }
}

impl AwsServer {
    /// An AWS server for `sim`, whose clock stands still until the caller moves it.
    pub fn new(sim: &Sim) -> Self {
        let at = sim.clone();
        Self {
            sim: sim.clone(),
            clock: Box::new(move || at.now()),
            page_max: usize::MAX,
            endpoint: None,
            requests: RefCell::default(),
        }
    }

    /// Lets the world go on until `clock` before every request.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Gives at most this number of items on one page, whatever the request says, as AWS may.
    #[must_use]
    pub fn with_page_max(mut self, page_max: usize) -> Self {
        self.page_max = page_max;
        self
    }

    /// Has EKS say that the cluster's API server is at `url`, as it is where that server is a real one.
    #[must_use]
    pub fn with_endpoint(mut self, url: &str) -> Self {
        self.endpoint = Some(url.trim_end_matches('/').to_owned());
        self
    }

    /// How often each operation was asked for so far.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.borrow().clone()
    }

    /// Answers a request.
    pub async fn answer(&self, request: &Request) -> Reply {
        self.sim.pass_until((self.clock)());
        if let Some(path) = request.path.strip_prefix("/_control/") {
            return control::answer(self, path, request);
        }
        if let Some(target) = &request.target {
            self.count(target.rsplit('.').next().unwrap_or(target));
            return json::answer(target, &self.sim, &request.body).await;
        }
        if let Some(arn) = request.path.strip_prefix("/managedresources/") {
            self.count("GetManagedResource");
            return json::managed_resource(arn, &self.sim).await;
        }
        if let Some(path) = request.path.strip_prefix("/clusters/") {
            return eks::answer(self, path, request).await;
        }
        if request.path.trim_end_matches('/') == "/2015-03-31/functions" {
            self.count("ListFunctions");
            return json::functions();
        }
        if request.path.trim_end_matches('/') == "/2016-08-19/account-settings" {
            self.count("GetAccountSettings");
            return json::lambda_limits();
        }
        let mut parameters = parameters::Parameters::parse(&request.body);
        let action = parameters.text("Action").unwrap_or_default();
        self.count(&action);
        match parameters.text("Version").as_deref() {
            Some(ec2::VERSION) => {
                let call = ec2::Call { sim: &self.sim, parameters, page_max: self.page_max };
                ec2::answer(&action, call).await
            }
            Some(iam::VERSION) => iam::answer(self, &action, parameters).await,
            version => {
                let words = format!(
                    "not supported yet: {} {} version {version:?}",
                    request.method, request.path
                );
                Reply::json(400, "application/json", &serde_json::json!({ "message": words }))
            }
        }
    }

    fn count(&self, operation: &str) {
        *self.requests.borrow_mut().entry(operation.to_owned()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
