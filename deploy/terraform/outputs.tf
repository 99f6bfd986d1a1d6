locals {
  outputs = aws_cloudformation_stack.this.outputs

  function_role_arns = {
    for name, value in local.outputs : lower(trimsuffix(name, "RoleArn")) => value
    if endswith(name, "RoleArn") && !endswith(name, "NodeRoleArn")
  }
  dead_letter_queue_urls = {
    for name, value in local.outputs : lower(trimsuffix(name, "DeadLetterQueueUrl")) => value
    if endswith(name, "DeadLetterQueueUrl")
  }
  queue_urls = {
    for name, value in local.outputs : lower(trimsuffix(name, "QueueUrl")) => value
    if endswith(name, "QueueUrl") && !endswith(name, "DeadLetterQueueUrl")
  }
  node_roles = [
    { arn = lookup(local.outputs, "NodeRoleArn", ""), groups = [] },
    { arn = lookup(local.outputs, "WindowsNodeRoleArn", ""), groups = ["eks:kube-proxy-windows"] },
  ]
}

output "stack_name" {
  description = "Name of the stack, for `aws cloudformation` and the console."
  value       = aws_cloudformation_stack.this.name
}

output "node_role_name" {
  description = "The role for nodes that the stack created, for `spec.role` of EC2NodeClasses. Null without `create_node_role`."
  value       = lookup(local.outputs, "NodeRoleName", null)
}

output "node_role_arn" {
  description = "ARN of that role."
  value       = lookup(local.outputs, "NodeRoleArn", null)
}

output "windows_node_role_name" {
  description = "The role for Windows nodes that the stack created. Null without `create_windows_node_role`."
  value       = lookup(local.outputs, "WindowsNodeRoleName", null)
}

output "discovery_tags" {
  description = "Tags for subnets and security groups of nodes. EC2NodeClasses select by them."
  value       = { (local.discovery_key) = var.cluster_name }
}

output "function_names" {
  description = "Names of the Lambda functions, by function."
  value = {
    for name, value in local.outputs : lower(trimsuffix(name, "FunctionName")) => value
    if endswith(name, "FunctionName")
  }
}

output "function_role_arns" {
  description = "Roles of the Lambda functions, by function."
  value       = local.function_role_arns
}

output "aws_auth_roles" {
  description = "Entries for `mapRoles` of the ConfigMap `aws-auth`, for a cluster without access entries (`create_access_entries = false`)."
  value = tolist(concat(
    [for function, group in local.kubernetes_groups : {
      rolearn  = local.function_role_arns[function]
      username = group
      groups   = tolist([group])
    }],
    [for role in local.node_roles : {
      rolearn  = role.arn
      username = "system:node:{{EC2PrivateDNSName}}"
      groups   = tolist(concat(["system:bootstrappers", "system:nodes"], role.groups))
    } if role.arn != ""],
  ))
}

output "table_name" {
  description = "The DynamoDB table that records which instances belong to the cluster."
  value       = local.outputs["TableName"]
}

output "queue_urls" {
  description = "URLs of the SQS queues, by their work. `interruption` is the counterpart of Karpenter's interruption queue."
  value       = local.queue_urls
}

output "dead_letter_queue_urls" {
  description = "URLs of the dead-letter queues, by their work. A message in one of them needs attention."
  value       = local.dead_letter_queue_urls
}

output "wake_url" {
  description = "Where the API server calls the function `wake`, for `journeyman install --wake`. Null without `wake_key`."
  value       = lookup(local.outputs, "WakeUrl", null)
}

output "console_urls" {
  description = "Addresses in the AWS console: `functions`, `table`, and, if the stack has them, `alarms` and `dashboard`."
  value = {
    for name, value in local.outputs : lower(trimsuffix(name, "Url")) => value
    if endswith(name, "Url") && !endswith(name, "QueueUrl") && name != "WakeUrl"
  }
}
