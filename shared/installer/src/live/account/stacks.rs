//! Stacks of CloudFormation: what is deployed, and the change sets that deploy it.

use aws_sdk_cloudformation::{
    Client,
    types::{
        Capability, Change, ChangeAction, ChangeSetStatus, ChangeSetType, Parameter,
        ParameterDeclaration, Replacement, ResourceChange as Changed, ResourceStatus, Stack,
        StackEvent as Event, StackStatus, TemplateStage,
    },
};

use super::{AccountClient, present};
use crate::live::{
    ChangeSetState, DeployedStack, Deployment, LiveAnswer, ParameterValue, ParameterValues,
    ResourceChange, StackEvent, StackState, TemplateParameter,
};

impl AccountClient {
    fn formation(&self) -> Client {
        Client::new(&self.config)
    }

    /// The stack called `name`; `None`: there is none.
    pub(crate) fn deployed(&self, name: &str) -> LiveAnswer<Option<DeployedStack>> {
        let request = self.formation().describe_stacks().stack_name(name);
        let answer = self.runtime.block_on(request.send());
        let answer = present("cloudformation:DescribeStacks", name, answer)?;
        let stack = answer.and_then(|answer| answer.stacks.unwrap_or_default().pop());
        let stack = stack.as_ref().map(deployed);
        Ok(stack.filter(|stack| stack.state.status != "DELETE_COMPLETE"))
    }

    /// The template of the stack called `name`, as it was sent to CloudFormation; `None`: there is no such stack.
    pub(crate) fn template_of(&self, name: &str) -> LiveAnswer<Option<String>> {
        let request = self.formation().get_template().stack_name(name);
        let request = request.template_stage(TemplateStage::Original);
        let answer = self.runtime.block_on(request.send());
        let answer = present("cloudformation:GetTemplate", name, answer)?;
        Ok(answer.and_then(|answer| answer.template_body))
    }

    /// Id of the newest event of the stack called `name`; `None`: there is none.
    pub(crate) fn newest_event(&self, name: &str) -> LiveAnswer<Option<String>> {
        let request = self.formation().describe_stack_events().stack_name(name);
        let answer = self.runtime.block_on(request.send());
        let answer = present("cloudformation:DescribeStackEvents", name, answer)?;
        let newest = answer.and_then(|answer| answer.stack_events?.into_iter().next());
        Ok(newest.and_then(|event| event.event_id))
    }

    /// What happened to the stack called `name` since the event with the id `since`, the newest first.
    pub(crate) fn stack_events(&self, name: &str, since: &str) -> LiveAnswer<Vec<StackEvent>> {
        let request = self.formation().describe_stack_events().stack_name(name);
        let mut pages = request.into_paginator().send();
        let mut events = Vec::new();
        while let Some(page) = self.runtime.block_on(pages.next()) {
            let page = present("cloudformation:DescribeStackEvents", name, page)?;
            for event in page.and_then(|page| page.stack_events).unwrap_or_default() {
                if event.event_id() == Some(since) {
                    return Ok(events);
                }
                events.push(happened(&event));
            }
        }
        Ok(events)
    }

    /// The parameters that the template at `url` declares, in its order.
    pub(crate) fn template_parameters(&self, url: &str) -> LiveAnswer<Vec<TemplateParameter>> {
        let request = self.formation().get_template_summary().template_url(url);
        let answer = self.runtime.block_on(request.send());
        let answer = present("cloudformation:GetTemplateSummary", url, answer)?
            .ok_or_else(|| format!("cloudformation:GetTemplateSummary: no template at {url}"))?;
        Ok(answer.parameters.unwrap_or_default().iter().map(parameter).collect())
    }

    /// Has CloudFormation compare the template at `url` with the stack called `name`, as a change set called `set`.
    pub(crate) fn create_change_set(
        &self,
        name: &str,
        (set, deployment): (&str, Deployment),
        url: &str,
        values: &ParameterValues,
    ) -> LiveAnswer<()> {
        let kind = match deployment {
            Deployment::Create => ChangeSetType::Create,
            Deployment::Update => ChangeSetType::Update,
        };
        let values = values.iter().map(|(name, value)| {
            let parameter = Parameter::builder().parameter_key(name);
            match value {
                ParameterValue::New(value) => parameter.parameter_value(value),
                ParameterValue::Former => parameter.use_previous_value(true),
            }
            .build()
        });
        let request = self
            .formation()
            .create_change_set()
            .stack_name(name)
            .change_set_name(set)
            // A request that is sent again, because its answer was lost, makes no second one.
            .client_token(set)
            .change_set_type(kind)
            .template_url(url)
            // The functions' roles, and the transform of AWS SAM.
            .capabilities(Capability::CapabilityIam)
            .capabilities(Capability::CapabilityAutoExpand)
            .set_parameters(Some(values.collect()));
        let answer = self.runtime.block_on(request.send());
        present("cloudformation:CreateChangeSet", name, answer)?
            .map(drop)
            .ok_or_else(|| format!("cloudformation:CreateChangeSet: the stack {name} is gone"))
    }

    /// How far the change set called `set` is, with all of its changes.
    pub(crate) fn change_set(&self, name: &str, set: &str) -> LiveAnswer<ChangeSetState> {
        let request = self.formation().describe_change_set();
        let mut pages = request.stack_name(name).change_set_name(set).into_paginator().send();
        let mut state =
            ChangeSetState { status: String::new(), reason: String::new(), changes: Vec::new() };
        while let Some(page) = self.runtime.block_on(pages.next()) {
            let page = present("cloudformation:DescribeChangeSet", set, page)?
                .ok_or_else(|| format!("the change set {set} is gone"))?;
            page.status()
                .map(ChangeSetStatus::as_str)
                .unwrap_or_default()
                .clone_into(&mut state.status);
            state.reason = text(page.status_reason());
            let changes = page.changes.unwrap_or_default();
            state.changes.extend(changes.iter().filter_map(Change::resource_change).map(changed));
        }
        Ok(state)
    }

    /// Has CloudFormation do what the change set called `set` says.
    pub(crate) fn execute_change_set(&self, name: &str, set: &str) -> LiveAnswer<()> {
        let request = self.formation().execute_change_set().stack_name(name).change_set_name(set);
        let answer = self.runtime.block_on(request.send());
        present("cloudformation:ExecuteChangeSet", set, answer)?
            .map(drop)
            .ok_or_else(|| format!("the change set {set} is gone"))
    }

    /// Deletes the change set called `set`; the stack stays as it is.
    pub(crate) fn delete_change_set(&self, name: &str, set: &str) -> LiveAnswer<()> {
        let request = self.formation().delete_change_set().stack_name(name).change_set_name(set);
        let answer = self.runtime.block_on(request.send());
        present("cloudformation:DeleteChangeSet", set, answer).map(drop)
    }
}

fn text(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

fn deployed(stack: &Stack) -> DeployedStack {
    let parameters = stack.parameters().iter();
    let outputs = stack.outputs().iter();
    DeployedStack {
        state: StackState {
            status: text(stack.stack_status().map(StackStatus::as_str)),
            reason: text(stack.stack_status_reason()),
        },
        parameters: parameters
            .map(|parameter| (text(parameter.parameter_key()), text(parameter.parameter_value())))
            .collect(),
        outputs: outputs
            .map(|output| (text(output.output_key()), text(output.output_value())))
            .collect(),
    }
}

fn happened(event: &Event) -> StackEvent {
    StackEvent {
        name: text(event.logical_resource_id()),
        kind: text(event.resource_type()),
        status: text(event.resource_status().map(ResourceStatus::as_str)),
        reason: text(event.resource_status_reason()),
    }
}

fn parameter(declared: &ParameterDeclaration) -> TemplateParameter {
    TemplateParameter {
        name: text(declared.parameter_key()),
        default: declared.default_value().map(str::to_owned),
        description: text(declared.description()),
    }
}

fn changed(change: &Changed) -> ResourceChange {
    ResourceChange {
        action: text(change.action().map(ChangeAction::as_str)),
        name: text(change.logical_resource_id()),
        kind: text(change.resource_type()),
        replacement: text(change.replacement().map(Replacement::as_str)),
    }
}
