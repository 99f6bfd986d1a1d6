//! The environment: every variable that a function reads, and what they say.

use std::str::FromStr;

use aws::{Connection, Endpoints, FunctionNames, QueueUrls, RecordForm, Service};
use model::{
    ClusterName,
    wake::{WAKE_KEY_VARIABLE, WakeKey},
};
use tracing::level_filters::LevelFilter;

/// The registry of names, beside [`handlers::SETTINGS`]. `template.yaml` sets them.
pub(crate) mod variables {
    /// Name of the EKS cluster. Required.
    pub(crate) const CLUSTER_NAME: &str = "JOURNEYMAN_CLUSTER_NAME";
    /// Name of the ledger's table. Required.
    pub(crate) const TABLE_NAME: &str = "JOURNEYMAN_TABLE_NAME";
    /// Queue of `provision`. Required.
    pub(crate) const PROVISION_QUEUE_URL: &str = "JOURNEYMAN_PROVISION_QUEUE_URL";
    /// Queue of `disrupt`. Required.
    pub(crate) const DISRUPT_QUEUE_URL: &str = "JOURNEYMAN_DISRUPT_QUEUE_URL";
    /// Queue of `launch`. Required.
    pub(crate) const LAUNCH_QUEUE_URL: &str = "JOURNEYMAN_LAUNCH_QUEUE_URL";
    /// Queue of `settle`. Required.
    pub(crate) const SETTLE_QUEUE_URL: &str = "JOURNEYMAN_SETTLE_QUEUE_URL";
    /// Queue of `drain`. Required.
    pub(crate) const DRAIN_QUEUE_URL: &str = "JOURNEYMAN_DRAIN_QUEUE_URL";
    /// Name of the function `resolve`, for one that calls it.
    pub(crate) const RESOLVE_FUNCTION: &str = "JOURNEYMAN_RESOLVE_FUNCTION";
    /// Name of the function `sweep`, for one that calls it.
    pub(crate) const SWEEP_FUNCTION: &str = "JOURNEYMAN_SWEEP_FUNCTION";
    /// `https://…` of the API server; without it, EKS is asked.
    pub(crate) const CLUSTER_ENDPOINT: &str = "JOURNEYMAN_CLUSTER_ENDPOINT";
    /// Certificate authority of the API server in base64; without it, EKS is asked.
    pub(crate) const CLUSTER_CA_BUNDLE: &str = "JOURNEYMAN_CLUSTER_CA_BUNDLE";
    /// Where every AWS service answers instead of AWS: an emulator. A service's own variable,
    /// [`aws::Service::endpoint_variable`], goes before it.
    pub(crate) const ENDPOINT_URL: &str = "AWS_ENDPOINT_URL";
    /// Where a collector of OpenTelemetry takes metrics and spans over HTTP; without it, no collector is used.
    pub(crate) const OTLP_ENDPOINT: &str = "JOURNEYMAN_OTLP_ENDPOINT";
    /// `error`, `warn` or `info`; `info` without it.
    pub(crate) const LOG_LEVEL: &str = "JOURNEYMAN_LOG_LEVEL";
    /// `true` in a stack with the function `wake`; `false` without it.
    pub(crate) const WAKE: &str = "JOURNEYMAN_WAKE";
    /// `true` has claims written as functions of the release of commit 405e221 read them; `false` without it.
    pub(crate) const FORMER_RECORDS: &str = "JOURNEYMAN_FORMER_RECORDS";
}

/// What the environment of a function contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The cluster that it serves.
    pub cluster: ClusterName,
    /// The ledger's table.
    pub table: String,
    /// Where messages go.
    pub queues: QueueUrls,
    /// The functions that are called.
    pub functions: FunctionNames,
    /// Another way to the API server than what EKS says.
    pub connection: Connection,
    /// Where AWS services answer instead of AWS.
    pub endpoints: Endpoints,
    /// Where metrics and spans go beside CloudWatch.
    pub otlp_endpoint: Option<String>,
    /// The least important lines that are still written.
    pub log_level: LevelFilter,
    /// How the handlers work.
    pub settings: handlers::Settings,
    /// How claims are written.
    pub record_form: RecordForm,
}

/// Everything that is wrong with the environment, one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment is incomplete or wrong: {}", .0.join("; "))]
pub struct InvalidEnvironment(pub Vec<String>);

impl Environment {
    /// Reads the environment of the process.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn from_environment() -> Result<Self, InvalidEnvironment> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads variables through `get`. An empty one counts as absent.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidEnvironment> {
        let mut reader = Reader { get, problems: Vec::new() };
        let cluster = reader.cluster();
        // An empty text stands in for what is missing; it never leaves this function.
        let table = reader.required(variables::TABLE_NAME);
        let queues = QueueUrls {
            provision: reader.required(variables::PROVISION_QUEUE_URL),
            disrupt: reader.required(variables::DISRUPT_QUEUE_URL),
            launch: reader.required(variables::LAUNCH_QUEUE_URL),
            settle: reader.required(variables::SETTLE_QUEUE_URL),
            drain: reader.required(variables::DRAIN_QUEUE_URL),
        };
        let functions = FunctionNames {
            resolve: reader.optional(variables::RESOLVE_FUNCTION).unwrap_or_default(),
            sweep: reader.optional(variables::SWEEP_FUNCTION).unwrap_or_default(),
        };
        let connection = Connection {
            endpoint: reader.optional(variables::CLUSTER_ENDPOINT),
            ca_bundle: reader.optional(variables::CLUSTER_CA_BUNDLE),
        };
        let of_service =
            |service: Service| Some((service, reader.optional(service.endpoint_variable())?));
        let endpoints = Endpoints {
            every: reader.optional(variables::ENDPOINT_URL),
            own: Service::ALL.into_iter().filter_map(of_service).collect(),
        };
        let log_level = reader.parsed(variables::LOG_LEVEL, LevelFilter::INFO, "a level");
        let (wake_key, has_wake) = (reader.wake_key(), reader.switch(variables::WAKE));
        let settings = handlers::Settings { wake_key, has_wake, ..reader.settings() };
        let is_former = reader.switch(variables::FORMER_RECORDS);
        let record_form = if is_former { RecordForm::Text } else { RecordForm::Packed };
        match cluster {
            Some(cluster) if reader.problems.is_empty() => Ok(Self {
                cluster,
                table,
                queues,
                functions,
                connection,
                endpoints,
                otlp_endpoint: reader.optional(variables::OTLP_ENDPOINT),
                log_level,
                settings,
                record_form,
            }),
            _ => Err(InvalidEnvironment(reader.problems)),
        }
    }
}

/// Reads one variable after the other, and remembers what is wrong with them.
struct Reader<G> {
    get: G,
    problems: Vec<String>,
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    fn optional(&self, name: &str) -> Option<String> {
        (self.get)(name).filter(|value| !value.is_empty())
    }

    fn required(&mut self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.problems.push(format!("{name} is required"));
            String::new()
        })
    }

    fn parsed<T: FromStr>(&mut self, name: &str, otherwise: T, rule: &str) -> T {
        let Some(text) = self.optional(name) else { return otherwise };
        if let Ok(value) = text.parse() {
            return value;
        }
        self.problems.push(format!("{name}: `{text}` is not {rule}"));
        otherwise
    }

    fn switch(&mut self, name: &str) -> bool {
        self.parsed(name, false, "`true` or `false`")
    }

    fn settings(&mut self) -> handlers::Settings {
        handlers::Settings::read(|setting| setting.variable, &self.get).unwrap_or_else(|wrong| {
            self.problems.extend(wrong.iter().map(ToString::to_string));
            handlers::Settings::default()
        })
    }

    fn wake_key(&mut self) -> Option<WakeKey> {
        let key = WakeKey::new(&self.optional(WAKE_KEY_VARIABLE)?);
        key.map_err(|error| self.problems.push(format!("{WAKE_KEY_VARIABLE}: {error}"))).ok()
    }

    fn cluster(&mut self) -> Option<ClusterName> {
        let text = self.required(variables::CLUSTER_NAME);
        if text.is_empty() {
            return None;
        }
        ClusterName::new(&text)
            .map_err(|error| self.problems.push(format!("{}: {error}", variables::CLUSTER_NAME)))
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use handlers::DryRuns;

    use super::*;

    fn complete() -> BTreeMap<&'static str, &'static str> {
        [
            (variables::CLUSTER_NAME, "demo"),
            (variables::TABLE_NAME, "ledger"),
            (variables::PROVISION_QUEUE_URL, "https://sqs.test/provision"),
            (variables::DISRUPT_QUEUE_URL, "https://sqs.test/disrupt"),
            (variables::LAUNCH_QUEUE_URL, "https://sqs.test/launch"),
            (variables::SETTLE_QUEUE_URL, "https://sqs.test/settle"),
            (variables::DRAIN_QUEUE_URL, "https://sqs.test/drain"),
        ]
        .into()
    }

    fn read(variables: &BTreeMap<&str, &str>) -> Result<Environment, String> {
        let get = |name: &str| variables.get(name).map(|value| (*value).to_owned());
        Environment::read(get).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let environment = read(&complete()).unwrap();
        assert_eq!(environment.cluster.as_str(), "demo");
        assert_eq!(environment.queues.launch, "https://sqs.test/launch");
        assert_eq!(environment.connection, Connection::default());
        assert_eq!(environment.log_level, LevelFilter::INFO);
        assert_eq!(environment.settings, handlers::Settings::default());
        assert_eq!(environment.record_form, RecordForm::Packed);
        let switched =
            [("JOURNEYMAN_DISABLE_DRY_RUN", "true"), (variables::FORMER_RECORDS, "true")];
        let environment = read(&complete().into_iter().chain(switched).collect()).unwrap();
        assert_eq!(environment.settings.dry_runs, DryRuns::Disabled);
        assert_eq!(environment.record_form, RecordForm::Text);
    }

    #[test]
    fn a_key_of_wake_is_read_and_never_repeated() {
        let mut variables = complete();
        variables.insert(WAKE_KEY_VARIABLE, "0123456789abcdef0123456789abcdef");
        let environment = read(&variables).unwrap();
        assert!(environment.settings.wake_key.is_some());
        assert!(!format!("{environment:?}").contains("0123456789"));
        variables.insert(WAKE_KEY_VARIABLE, "0123456789");
        let problem = read(&variables).unwrap_err();
        assert!(problem.contains("JOURNEYMAN_WAKE_KEY: a key of at least 32 bytes"), "{problem}");
        assert!(!problem.contains("0123456789"), "{problem}");
    }

    #[test]
    fn a_service_may_have_an_endpoint_of_its_own() {
        let mut variables = complete();
        assert_eq!(read(&variables).unwrap().endpoints, Endpoints::default());
        variables.insert(variables::ENDPOINT_URL, "http://localhost:1");
        variables.insert("AWS_ENDPOINT_URL_EC2", "http://localhost:2");
        variables.insert("AWS_ENDPOINT_URL_SSM", "");
        let endpoints = read(&variables).unwrap().endpoints;
        assert_eq!(endpoints.every.as_deref(), Some("http://localhost:1"));
        let entries: Vec<_> = endpoints.own.into_iter().collect();
        assert_eq!(entries, [(Service::Ec2, "http://localhost:2".to_owned())]);
    }

    #[test]
    fn everything_that_is_missing_is_reported_at_once() {
        assert_eq!(
            read(&BTreeMap::from([(variables::TABLE_NAME, "")])).unwrap_err(),
            "the environment is incomplete or wrong: JOURNEYMAN_CLUSTER_NAME is required; \
             JOURNEYMAN_TABLE_NAME is required; JOURNEYMAN_PROVISION_QUEUE_URL is required; \
             JOURNEYMAN_DISRUPT_QUEUE_URL is required; JOURNEYMAN_LAUNCH_QUEUE_URL is required; \
             JOURNEYMAN_SETTLE_QUEUE_URL is required; JOURNEYMAN_DRAIN_QUEUE_URL is required"
        );
    }

    #[test]
    fn a_wrong_value_names_its_variable_and_rule() {
        for (name, value, expected) in [
            ("JOURNEYMAN_POLL_INTERVAL_SECONDS", "0", "`0` is not a whole number from 1 to 60"),
            ("JOURNEYMAN_POLL_INTERVAL_SECONDS", "5s", "`5s` is not a whole number from 1 to 60"),
            (variables::LOG_LEVEL, "loud", "`loud` is not a level"),
            ("JOURNEYMAN_DISABLE_DRY_RUN", "1", "`1` is not `true` or `false`"),
            ("JOURNEYMAN_PREFERENCE_POLICY", "ignore", "`ignore` is not `Respect` or `Ignore`"),
        ] {
            let mut variables = complete();
            variables.insert(name, value);
            let expected = format!("the environment is incomplete or wrong: {name}: {expected}");
            assert_eq!(read(&variables).unwrap_err(), expected);
        }
    }
}
