//! SSM's one call that is needed, GetParameter, without the 348,000 lines of its SDK.
//!
//! <https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html>

use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use model::limits::requests;
use ports::{Fault, PortError};
use serde_json::{Value, json};

use crate::{
    fault::BadAnswer,
    json_call::{JsonService, Operation, endpoint},
    kept::Kept,
};

const GET: Operation =
    Operation { name: "GetParameter", target: "AmazonSSM.GetParameter", service: "ssm" };

/// A published value that names an image which is advised against holds no longer than this.
///
/// Karpenter: `pkg/controllers/providers/ssm/invalidation/controller.go` of the AWS provider.
const DEPRECATED_FOR: Duration = Duration::from_mins(30);

/// SSM parameters of one region: those that AWS publishes are asked for at most once a day each, others at most
/// every five minutes, and so are those that are not there. A failure is not kept.
///
/// Karpenter: `pkg/providers/ssm/provider.go`, which keeps them as long.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    service: JsonService,
    published: Kept<String, String>,
    kept: Kept<String, Option<String>>,
}

impl Parameters {
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
    ) -> Self {
        let service = JsonService::new(config, endpoint("ssm", region), region, credentials);
        let published = Kept::new(config, requests::PUBLISHED_KEPT_FOR);
        Self { service, published, kept: Kept::new(config, requests::SELECTED_KEPT_FOR) }
    }

    /// The same at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(
        self,
        connector: aws_smithy_runtime_api::client::http::SharedHttpConnector,
    ) -> Self {
        Self { service: self.service.over(connector), ..self }
    }

    /// The value of a user's own parameter called `name`, if there is one.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<String>, PortError> {
        self.kept.or_ask(&name.to_owned(), |_| true, self.ask(name)).await
    }

    /// The value of the parameter called `name` that AWS publishes, if there is one.
    pub(crate) async fn published(&self, name: &str) -> Result<Option<String>, PortError> {
        let key = name.to_owned();
        if let Some(value) = self.published.get(&key) {
            return Ok(Some(value));
        }
        let value = self.get(name).await?;
        if let Some(value) = &value {
            self.published.put(&key, value);
        }
        Ok(value)
    }

    /// The image that the published parameter called `name` holds is advised against: there may be another by
    /// now.
    pub(crate) fn is_deprecated(&self, name: &str) {
        self.published.forget_older(&name.to_owned(), DEPRECATED_FOR);
    }

    async fn ask(&self, name: &str) -> Result<Option<String>, PortError> {
        value_of(self.service.call(GET, &json!({ "Name": name })).await)
    }
}

fn value_of(answer: Result<Value, PortError>) -> Result<Option<String>, PortError> {
    match answer {
        Ok(answer) => {
            let value = answer.pointer("/Parameter/Value").and_then(Value::as_str);
            let value = value.map(|value| Some(value.to_owned()));
            value.ok_or_else(|| BadAnswer::of(GET.name, "no `Parameter.Value`"))
        }
        Err(PortError { fault: Fault::NotFound, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use aws_credential_types::Credentials;

    use super::*;
    use crate::{
        json_call::{from_answer, to_request},
        wire::{Shown, Wire},
    };

    #[test]
    fn the_request_names_the_parameter_and_is_signed_for_ssm() {
        let credentials =
            Credentials::new("AKIDEXAMPLE", "secret", Some("token".to_owned()), None, "test");
        let request = to_request(
            GET,
            &endpoint("ssm", "us-west-2"),
            "us-west-2",
            &json!({ "Name": "/aws/service/x" }),
            credentials,
            SystemTime::UNIX_EPOCH,
        )
        .unwrap();
        assert_eq!(request.uri(), "https://ssm.us-west-2.amazonaws.com/");
        assert_eq!(request.method(), "POST");
        assert_eq!(request.body().bytes(), Some(br#"{"Name":"/aws/service/x"}"#.as_slice()));
        let header = |name: &str| request.headers().get(name).unwrap_or_default().to_owned();
        assert_eq!(header("x-amz-target"), GET.target);
        assert_eq!(header("x-amz-security-token"), "token");
        let authorization = header("authorization");
        assert!(
            authorization
                .starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/19700101/us-west-2/ssm/"),
            "{authorization}"
        );
        assert!(authorization.contains("x-amz-target"), "{authorization}");
    }

    #[track_caller]
    fn check(status: u16, body: &str, expected: Result<Option<&str>, Fault>) {
        let text = value_of(from_answer(GET, status, body.as_bytes()));
        let outcome = text.map_err(|error| error.fault);
        assert_eq!(outcome.as_ref().map(Option::as_deref), expected.as_ref().copied(), "{body}");
    }

    #[test]
    fn a_parameter_that_is_not_there_is_no_error() {
        check(200, r#"{"Parameter":{"Value":"ami-1"}}"#, Ok(Some("ami-1")));
        check(400, r#"{"__type":"ParameterNotFound"}"#, Ok(None));
        check(400, r#"{"__type":"com.amazonaws.ssm#ParameterNotFound"}"#, Ok(None));
    }

    #[test]
    fn other_answers_say_what_they_are() {
        check(400, r#"{"__type":"ThrottlingException","message":"slow"}"#, Err(Fault::Transient));
        check(400, r#"{"__type":"AccessDeniedException"}"#, Err(Fault::Permanent));
        check(500, "<html>", Err(Fault::Unknown));
        check(200, "{}", Err(Fault::Permanent));
    }

    fn parameters(wire: &Wire, shown: &Shown) -> Parameters {
        let config = wire.config().into_builder().time_source(shown.clone()).build();
        let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
        let credentials = SharedCredentialsProvider::new(credentials);
        Parameters::new(&config, "us-west-2", credentials).over(wire.connector())
    }

    #[tokio::test]
    async fn a_published_parameter_is_asked_for_once_a_day_unless_its_image_is_advised_against() {
        let first = r#"{"Parameter":{"Value":"ami-1"}}"#;
        let second = r#"{"Parameter":{"Value":"ami-2"}}"#;
        let wire = Wire::answering(&[
            Some((200, first)),
            Some((200, second)),
            Some((400, r#"{"__type":"ParameterNotFound"}"#)),
            Some((200, first)),
        ]);
        let shown = Shown::new();
        let parameters = parameters(&wire, &shown);
        let check = async |name: &str, expected: Option<&str>| {
            assert_eq!(parameters.published(name).await.unwrap().as_deref(), expected);
        };
        check("x", Some("ami-1")).await;
        shown.pass(DEPRECATED_FOR / 2);
        parameters.is_deprecated("x");
        check("x", Some("ami-1")).await;
        shown.pass(DEPRECATED_FOR / 2);
        parameters.is_deprecated("x");
        check("x", Some("ami-2")).await;
        shown.pass(requests::PUBLISHED_KEPT_FOR.unsigned_abs() / 2);
        check("x", Some("ami-2")).await;
        // What is not there is asked for again after five minutes.
        check("y", None).await;
        shown.pass(requests::SELECTED_KEPT_FOR.unsigned_abs());
        check("y", Some("ami-1")).await;
    }

    #[tokio::test]
    async fn a_parameter_is_asked_for_once_in_five_minutes_whether_it_is_there_or_not() {
        let wire = Wire::answering(&[
            Some((500, "{}")),
            Some((200, r#"{"Parameter":{"Value":"ami-1"}}"#)),
            Some((400, r#"{"__type":"ParameterNotFound"}"#)),
        ]);
        let parameters = parameters(&wire, &Shown::new());
        assert!(parameters.get("there").await.is_err());
        for _ in 0..2 {
            assert_eq!(parameters.get("there").await.unwrap().as_deref(), Some("ami-1"));
            assert_eq!(parameters.get("missing").await.unwrap(), None);
        }
        assert_eq!(wire.sent().len(), 3);
    }
}
