//! The roles of `template.yaml` as CloudFormation would make them: its functions are resolved for one stack.

use std::collections::BTreeMap;

use model::Function;
use serde_json::{Value, json};
use simulator::ACCOUNT_ID;
use tests::stack::capitalized;

use super::policy::Statement;

/// Where a stack is, and what it was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    pub(crate) partition: &'static str,
    pub(crate) region: &'static str,
    pub(crate) cluster: &'static str,
    /// What is not as by default. Values of lists are separated by commas.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// The roles that nodes may have with that, by name.
    pub(crate) node_roles: &'static [&'static str],
    /// The table, by name.
    pub(crate) table: &'static str,
}

/// Resolves the functions of the template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolver<'a> {
    pub(crate) template: &'a Value,
    pub(crate) stack: Stack,
}

impl Resolver<'_> {
    pub(crate) fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::Array(items) => Value::Array(self.items(items)),
            Value::Object(fields) => match fields.iter().collect::<Vec<_>>().as_slice() {
                [(name, argument)] if *name == "Ref" => {
                    self.reference(argument.as_str().expect("a name"))
                }
                [(name, argument)] if name.starts_with("Fn::") => self.call(name, argument),
                fields => {
                    let pairs =
                        fields.iter().map(|(key, value)| ((*key).clone(), self.resolve(value)));
                    Value::Object(pairs.collect())
                }
            },
            other => other.clone(),
        }
    }

    /// The properties of the resources of a kind that the stack has, by name.
    pub(crate) fn resources(&self, kind: &str) -> Vec<(&str, &Value)> {
        let resources = self.template["Resources"].as_object().expect("resources");
        let is_made = |resource: &Value| match resource["Condition"].as_str() {
            Some(name) => self.is_true(name),
            None => true,
        };
        let of_kind = resources.iter().filter(|(_, resource)| resource["Type"] == kind);
        let made = of_kind.filter(|(_, resource)| is_made(resource));
        made.map(|(name, resource)| (name.as_str(), &resource["Properties"])).collect()
    }

    /// Whether a condition holds.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.condition(&self.template["Conditions"][name])
    }

    /// A list that stands in a list is part of it, as IAM takes `Resource: [!Ref List]`.
    fn items(&self, items: &[Value]) -> Vec<Value> {
        items.iter().map(|item| self.resolve(item)).filter(|item| !item.is_null()).collect()
    }

    fn reference(&self, name: &str) -> Value {
        let Stack { partition, region, cluster, parameters, .. } = self.stack;
        match name {
            "AWS::Partition" => json!(partition),
            "AWS::URLSuffix" if partition == "aws-cn" => json!("amazonaws.com.cn"),
            "AWS::URLSuffix" => json!("amazonaws.com"),
            "AWS::Region" => json!(region),
            "AWS::AccountId" => json!(ACCOUNT_ID),
            "AWS::StackName" => json!("journeyman"),
            "AWS::NoValue" => Value::Null,
            "ClusterName" => json!(cluster),
            parameter => {
                let told = parameters.iter().find(|(name, _)| *name == parameter);
                let known = &self.template["Parameters"][parameter];
                match (known["Default"].as_str(), told) {
                    (_, Some((_, value))) if known["Type"] == "CommaDelimitedList" => {
                        json!(value.split(',').collect::<Vec<_>>())
                    }
                    (_, Some((_, value))) => json!(value),
                    (Some(default), None) => json!(default),
                    (None, None) => panic!("what is {parameter}?"),
                }
            }
        }
    }

    fn call(&self, name: &str, argument: &Value) -> Value {
        match name {
            "Fn::Sub" => {
                let mut rest = argument.as_str().expect("a text");
                let mut out = String::new();
                while let Some((before, after)) = rest.split_once("${") {
                    let (name, after) = after.split_once('}').expect("a name");
                    out.push_str(before);
                    let value = match name.split_once('.') {
                        Some((resource, attribute)) => self.attribute(resource, attribute),
                        None => self.reference(name).as_str().expect("a text").to_owned(),
                    };
                    out.push_str(&value);
                    rest = after;
                }
                json!(out + rest)
            }
            "Fn::GetAtt" => {
                let (resource, attribute) =
                    argument.as_str().and_then(|text| text.split_once('.')).expect("an attribute");
                json!(self.attribute(resource, attribute))
            }
            "Fn::If" => {
                let parts = argument.as_array().expect("three parts");
                let is_true = self.is_true(parts[0].as_str().expect("a name"));
                self.resolve(&parts[if is_true { 1 } else { 2 }])
            }
            other => panic!("{other} is not understood"),
        }
    }

    fn condition(&self, value: &Value) -> bool {
        let (name, argument) =
            value.as_object().and_then(|fields| fields.iter().next()).expect("a condition");
        let arguments = || argument.as_array().expect("a list");
        match name.as_str() {
            "Fn::Equals" => {
                let text = |index: usize| match &arguments()[index] {
                    Value::Object(fields) if fields.contains_key("Fn::Join") => {
                        let list = self.resolve(&fields["Fn::Join"][1]);
                        let items = list.as_array().into_iter().flatten().filter_map(Value::as_str);
                        list.as_str().map_or_else(|| items.collect(), ToOwned::to_owned)
                    }
                    other => self.resolve(other).as_str().expect("a text").to_owned(),
                };
                text(0) == text(1)
            }
            "Fn::Not" => !self.condition(&arguments()[0]),
            "Fn::And" => arguments().iter().all(|condition| self.condition(condition)),
            "Fn::Or" => arguments().iter().any(|condition| self.condition(condition)),
            "Condition" => self.is_true(argument.as_str().expect("a name")),
            other => panic!("{other} is not understood"),
        }
    }

    fn attribute(&self, resource: &str, attribute: &str) -> String {
        assert_eq!(attribute, "Arn", "of {resource}");
        let Stack { partition, region, .. } = self.stack;
        let kind = self.template["Resources"][resource]["Type"].as_str();
        let (service, name) = match kind.unwrap_or_else(|| self.kind_of_sams(resource)) {
            "AWS::IAM::Role" => {
                return format!("arn:{partition}:iam::{ACCOUNT_ID}:role/{resource}");
            }
            "AWS::Events::Rule" => ("events", format!("rule/{resource}")),
            "AWS::SQS::Queue" => ("sqs", resource.to_owned()),
            "AWS::Serverless::Function" => ("lambda", format!("function:{resource}")),
            "AWS::DynamoDB::Table" => ("dynamodb", format!("table/{resource}")),
            "AWS::Logs::LogGroup" => {
                let name = self
                    .resolve(&self.template["Resources"][resource]["Properties"]["LogGroupName"]);
                ("logs", format!("log-group:{}:*", name.as_str().expect("a name")))
            }
            other => panic!("what is the ARN of {other}?"),
        };
        format!("arn:{partition}:{service}:{region}:{ACCOUNT_ID}:{name}")
    }

    /// SAM makes a rule for each schedule of a function, named by both.
    fn kind_of_sams(&self, resource: &str) -> &'static str {
        let functions = self.resources("AWS::Serverless::Function");
        let is_its = functions.iter().any(|(function, properties)| {
            let event = resource.strip_prefix(function).unwrap_or_default();
            properties["Events"][event]["Type"] == "Schedule"
        });
        assert!(is_its, "what is {resource}?");
        "AWS::Events::Rule"
    }
}

/// What a function's role may do, in all of its policies.
pub(crate) fn roles(template: &Value, stack: Stack) -> BTreeMap<Function, Vec<Statement>> {
    let resolver = Resolver { template, stack };
    let role = |function: Function| {
        let name = format!("{}Role", capitalized(function.as_str()));
        let properties = &template["Resources"][&name]["Properties"];
        assert!(properties["ManagedPolicyArns"].is_null(), "{name}: what AWS says is not judged");
        let policies = resolver.resolve(&properties["Policies"]);
        let policies = policies.as_array().unwrap_or_else(|| panic!("{name} has no policies"));
        let statements = policies.iter().flat_map(|policy| {
            let statements = Statement::all(&policy["PolicyDocument"]);
            statements.unwrap_or_else(|error| panic!("{name}: {error}"))
        });
        statements.collect()
    };
    Function::ALL.into_iter().map(|function| (function, role(function))).collect()
}
