//! Calls of functions that have no queue: the one operation of Lambda that is needed.
//!
//! <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use model::Function;
use ports::PortError;

use crate::{
    fault::BadRequest,
    json_call::{JsonService, Operation, endpoint},
};

const INVOKE: Operation = Operation { name: "Invoke", target: "", service: "lambda" };
/// The caller does not wait for what becomes of it.
const HEADERS: [(&str, &str); 1] = [("x-amz-invocation-type", "Event")];

/// Names of functions in Lambda that other functions call; empty where none does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionNames {
    /// Of `resolve`.
    pub resolve: String,
    /// Of `sweep`.
    pub sweep: String,
}

impl FunctionNames {
    /// What `function` is called; `None` for one that is not called, or whose name is not set.
    fn of(&self, function: Function) -> Option<&str> {
        let name = match function {
            Function::Resolve => &self.resolve,
            Function::Sweep => &self.sweep,
            _ => return None,
        };
        Some(name.as_str()).filter(|name| !name.is_empty())
    }
}

/// The functions of one region.
#[derive(Clone, Debug)]
pub(crate) struct LambdaFunctions {
    service: JsonService,
    names: FunctionNames,
}

impl LambdaFunctions {
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
        names: FunctionNames,
    ) -> Self {
        Self {
            service: JsonService::new(config, endpoint("lambda", region), region, credentials),
            names,
        }
    }

    /// The same at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(
        self,
        connector: aws_smithy_runtime_api::client::http::SharedHttpConnector,
    ) -> Self {
        Self { service: self.service.over(connector), ..self }
    }

    /// Has Lambda call `function`.
    pub(crate) async fn call(&self, function: Function) -> Result<(), PortError> {
        let unknown =
            || BadRequest::of(INVOKE.name, format!("the name of `{function}` is not set"));
        let name = self.names.of(function).ok_or_else(unknown)?;
        let path = format!("/2015-03-31/functions/{name}/invocations");
        self.service.post(INVOKE, &path, &HEADERS, wire::event::CALL.to_owned()).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use ports::Fault;

    use super::*;
    use crate::wire::Wire;

    fn functions(wire: &Wire) -> LambdaFunctions {
        let config = wire.config();
        let names =
            FunctionNames { resolve: "stack-ResolveFunction-1".to_owned(), ..Default::default() };
        let credentials = config.credentials_provider().unwrap();
        LambdaFunctions::new(&config, "us-west-2", credentials, names).over(wire.connector())
    }

    #[tokio::test]
    async fn a_function_is_called_beside_the_caller() {
        let wire = Wire::answering(&[Some((202, ""))]);
        functions(&wire).call(Function::Resolve).await.unwrap();
        assert_eq!(wire.sent(), [wire::event::CALL]);
        assert_eq!(wire.targets(), ["/2015-03-31/functions/stack-ResolveFunction-1/invocations"]);
        assert_eq!(wire.header("x-amz-invocation-type"), ["Event"]);
    }

    #[tokio::test]
    async fn a_refusal_says_whether_it_may_work_later() {
        let throttled = r#"{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}"#;
        let forbidden = r#"{"Message":"User: arn:aws:sts::1:assumed-role/r/f is not authorized to perform: lambda:InvokeFunction"}"#;
        for (answer, fault, words) in [
            (Some((429, throttled)), Fault::Transient, "HTTP status 429: Rate Exceeded."),
            (Some((403, forbidden)), Fault::Permanent, "HTTP status 403: User: arn:aws:sts"),
            (Some((404, "{}")), Fault::NotFound, "ResourceNotFoundException"),
            (Some((500, "")), Fault::Unknown, "HTTP status 500"),
            (None, Fault::Unknown, ""),
        ] {
            let wire = Wire::answering(&[answer]);
            let error = functions(&wire).call(Function::Resolve).await.unwrap_err();
            assert_eq!((error.operation, error.fault), ("Invoke", fault), "{answer:?}");
            let source = error.source.map(|source| source.to_string()).unwrap_or_default();
            assert!(source.contains(words), "{source}");
        }
    }

    #[tokio::test]
    async fn a_function_of_which_no_name_is_known_is_not_called() {
        let wire = Wire::answering(&[]);
        for function in [Function::Sweep, Function::Provision] {
            let error = functions(&wire).call(function).await.unwrap_err();
            assert_eq!(error.fault, Fault::Permanent);
        }
        assert_eq!(wire.sent(), [] as [&str; 0]);
    }

    #[test]
    fn china_has_another_domain() {
        assert_eq!(endpoint("lambda", "cn-north-1"), "https://lambda.cn-north-1.amazonaws.com.cn");
        assert_eq!(endpoint("lambda", "eu-west-1"), "https://lambda.eu-west-1.amazonaws.com");
    }
}
