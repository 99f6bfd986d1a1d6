//! Whether requests of the API server reach `wake`, and what is in the way.

use model::Function;
use serde_json::Value;

use super::{
    super::observed::{Observed, Waking, text},
    Judged, StepVerdict,
    account::function,
    told,
};
use crate::{live::UrlAnswer, wake::removal};

const READ_CURE: &str = "Use a user that may get ValidatingWebhookConfigurations, FlowSchemas and PriorityLevelConfigurations and \
                         create events in the namespace default, and credentials with the right lambda:GetFunctionUrlConfig.";
const LOG: &str = "Look into the log of `wake`.";

/// A probe comes back through the webhooks, or the first thing that keeps it from doing so.
pub(super) fn called(seen: &Observed) -> Judged {
    let waking = told(&seen.waking, READ_CURE)?;
    let functions = told(&seen.functions, READ_CURE)?;
    let is_deployed = function(functions, Function::Wake).is_some() || seen.is_local();
    let install = format!(
        "journeyman install {} --wake URL, with the output WakeUrl of the stack and its WakeKey in JOURNEYMAN_WAKE_KEY",
        seen.cluster
    );
    let Some(webhooks) = &waking.webhooks else {
        return Ok(if is_deployed && !seen.is_local() {
            StepVerdict::wrong("The cluster has no webhooks that call `wake`.", install)
        } else {
            StepVerdict::NotNeeded("no `wake`: the functions look by themselves".to_owned())
        });
    };
    let url = text(webhooks, "/webhooks/0/clientConfig/url");
    if !is_deployed {
        return Ok(StepVerdict::wrong(
            format!("The API server calls {}, and the stack has no function `wake`.", host(url)),
            format!("Deploy the stack with WakeKey, or {}.", removal()),
        ));
    }
    if let Some(deployed) =
        waking.function_url.as_deref().filter(|deployed| host(deployed) != host(url))
    {
        return Ok(StepVerdict::wrong(
            format!(
                "The API server calls {}, and the stack's `wake` is at {}.",
                host(url),
                host(deployed)
            ),
            install,
        ));
    }
    if !waking.has_priority {
        return Ok(StepVerdict::wrong(
            "kube-scheduler's events have no priority level of their own: while `wake` does not answer, they take the \
             seats of its bindings.",
            install,
        ));
    }
    Ok(match waking.probed {
        Some(took) => StepVerdict::Done(format!("a probe came back after {} ms", took.as_millis())),
        None => unanswered(seen, waking, url, &install),
    })
}

/// The host of `url`: the path is a secret.
fn host(url: &str) -> &str {
    let place = url.trim_start_matches("https://");
    place.split('/').next().unwrap_or(place)
}

/// Why no answer of `wake` to a probe came, by what its URL answers from here.
fn unanswered(seen: &Observed, waking: &Waking, url: &str, install: &str) -> StepVerdict {
    let host = host(url);
    let (problem, cure) = match &waking.called {
        Some(UrlAnswer::Status(200)) => unreachable_for_the_api_server(seen, host),
        Some(UrlAnswer::Status(403)) => (
            format!("{host} refuses every call (403): the permission of the function's URL is missing."),
            "Deploy the stack again: AuthType NONE needs a permission for lambda:InvokeFunctionUrl and one for \
             lambda:InvokeFunction."
                .to_owned(),
        ),
        Some(UrlAnswer::Status(404)) => (
            format!("{host} does not take the secret path of the webhooks (404)."),
            format!(
                "`sweep` renews the path each minute; its log says why it does not. With another WakeKey at once: \
                 {install}"
            ),
        ),
        Some(UrlAnswer::Status(429)) => (
            format!("{host} has too many calls (429): they use all executions that are reserved for `wake`."),
            "Ask again. If it stays so, look into the metrics of `wake` for what is slow or who calls it.".to_owned(),
        ),
        Some(UrlAnswer::Status(status)) => {
            (format!("{host} answers with the HTTP status {status}."), LOG.to_owned())
        }
        Some(UrlAnswer::Failed(why)) => failed(why, host, install),
        None => ("No answer to a probe came.".to_owned(), "Ask again.".to_owned()),
    };
    StepVerdict::wrong(problem, cure)
}

/// The URL answers here. The API server goes another way, or waits no longer than a second.
fn unreachable_for_the_api_server(seen: &Observed, host: &str) -> (String, String) {
    let eks = seen.eks.as_ref().ok().and_then(Option::as_ref).unwrap_or(&Value::Null);
    let problem = |way: &str| format!("{host} answers here, and not the API server: {way}");
    match text(eks, "/resourcesVpcConfig/controlPlaneEgressMode") {
        mode @ ("CUSTOMER_ROUTED" | "CUSTOMER_ISOLATED") => (
            problem(&format!(
                "controlPlaneEgressMode is {mode}, so its calls take the routes of the cluster's subnets."
            )),
            "Deploy the stack with WakeEndpoint=private; or give these subnets a way to the internet, such as a NAT \
             gateway, and let the cluster's security group speak to port 443."
                .to_owned(),
        ),
        _ => (
            problem("its calls take longer than a second, or its condition lets none through."),
            format!(
                "Ask again: the first call of a function takes longer. {LOG} Then: journeyman install {} --wake URL \
                 --diff",
                seen.cluster
            ),
        ),
    }
}

/// No answer came here either.
fn failed(why: &str, host: &str, install: &str) -> (String, String) {
    let says = |words: &[&str]| words.iter().any(|word| why.to_ascii_lowercase().contains(word));
    let cure = if says(&["dns", "lookup address"]) {
        format!(
            "No name server knows the host. Write the output WakeUrl of the stack anew: {install}"
        )
    } else if says(&["certificate"]) {
        format!("The certificate is not that of the host, or a proxy is in between. {install}")
    } else if says(&["no answer within", "timed out", "elapsed"]) {
        "Nothing answers. With WakeEndpoint=private, run this command in the cluster's VPC, and let the security group \
         of the endpoint be spoken to on port 443."
            .to_owned()
    } else {
        format!("See whether the stack is deployed. {LOG}")
    };
    (format!("{host} cannot be called: {why}"), cure)
}
