//! What is removed from an account. Whatever is gone already needs no removal.

use super::{AccountClient, present};
use crate::live::{LiveAnswer, StackState, TableState};

impl AccountClient {
    /// Asks CloudFormation to delete the stack.
    pub(crate) fn delete_stack(&self, stack: &str) -> LiveAnswer<()> {
        let client = aws_sdk_cloudformation::Client::new(&self.config);
        let answer = self.runtime.block_on(client.delete_stack().stack_name(stack).send());
        present("cloudformation:DeleteStack", stack, answer).map(drop)
    }

    /// How far the stack is; none: it is gone.
    pub(crate) fn stack(&self, stack: &str) -> LiveAnswer<Option<StackState>> {
        let client = aws_sdk_cloudformation::Client::new(&self.config);
        let answer = self.runtime.block_on(client.describe_stacks().stack_name(stack).send());
        let answer = present("cloudformation:DescribeStacks", stack, answer)?;
        let described = answer.and_then(|answer| answer.stacks.unwrap_or_default().pop());
        let state = described.map(|stack| StackState {
            status: stack
                .stack_status()
                .map(|status| status.as_str().to_owned())
                .unwrap_or_default(),
            reason: stack.stack_status_reason().unwrap_or_default().to_owned(),
        });
        Ok(state.filter(|state| state.status != "DELETE_COMPLETE"))
    }

    /// Names of what the stack made of a kind such as `AWS::DynamoDB::Table`.
    pub(crate) fn made_by_stack(&self, stack: &str, kind: &str) -> LiveAnswer<Vec<String>> {
        let client = aws_sdk_cloudformation::Client::new(&self.config);
        let pages = client.list_stack_resources().stack_name(stack).into_paginator();
        let answer = self.runtime.block_on(pages.items().send().collect::<Result<Vec<_>, _>>());
        let resources = present("cloudformation:ListStackResources", stack, answer)?;
        let of_kind = resources
            .unwrap_or_default()
            .into_iter()
            .filter(|resource| resource.resource_type() == Some(kind));
        Ok(of_kind.filter_map(|resource| resource.physical_resource_id).collect())
    }

    /// How far the table is; none: it is gone.
    pub(crate) fn table(&self, table: &str) -> LiveAnswer<Option<TableState>> {
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let answer = self.runtime.block_on(client.describe_table().table_name(table).send());
        let answer = present("dynamodb:DescribeTable", table, answer)?;
        Ok(answer.and_then(|answer| answer.table).map(|table| TableState {
            status: table
                .table_status()
                .map(|status| status.as_str().to_owned())
                .unwrap_or_default(),
            is_protected: table.deletion_protection_enabled().unwrap_or_default(),
        }))
    }

    /// Lets the table be deleted.
    pub(crate) fn unprotect_table(&self, table: &str) -> LiveAnswer<()> {
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let request = client.update_table().table_name(table).deletion_protection_enabled(false);
        let answer = self.runtime.block_on(request.send());
        present("dynamodb:UpdateTable", table, answer).map(drop)
    }

    /// Deletes the table with all that is in it.
    pub(crate) fn delete_table(&self, table: &str) -> LiveAnswer<()> {
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let answer = self.runtime.block_on(client.delete_table().table_name(table).send());
        present("dynamodb:DeleteTable", table, answer).map(drop)
    }

    /// Deletes the launch template with all of its versions.
    pub(crate) fn delete_launch_template(&self, id: &str) -> LiveAnswer<()> {
        let client = aws_sdk_ec2::Client::new(&self.config);
        let request = client.delete_launch_template().launch_template_id(id);
        let answer = self.runtime.block_on(request.send());
        present("ec2:DeleteLaunchTemplate", id, answer).map(drop)
    }

    /// Takes the role out of the instance profile.
    pub(crate) fn remove_role(&self, profile: &str, role: &str) -> LiveAnswer<()> {
        let client = aws_sdk_iam::Client::new(&self.config);
        let request = client
            .remove_role_from_instance_profile()
            .instance_profile_name(profile)
            .role_name(role);
        let answer = self.runtime.block_on(request.send());
        present("iam:RemoveRoleFromInstanceProfile", profile, answer).map(drop)
    }

    /// Deletes the instance profile, which has no role any more.
    pub(crate) fn delete_instance_profile(&self, profile: &str) -> LiveAnswer<()> {
        let client = aws_sdk_iam::Client::new(&self.config);
        let request = client.delete_instance_profile().instance_profile_name(profile);
        let answer = self.runtime.block_on(request.send());
        present("iam:DeleteInstanceProfile", profile, answer).map(drop)
    }
}
