# `terraform test` or `tofu test`, without an account: what the module asks CloudFormation for.

mock_provider "aws" {
  mock_data "aws_s3_bucket" {
    defaults = {
      bucket_regional_domain_name = "artifacts.s3.us-west-2.amazonaws.com"
    }
  }
  mock_resource "aws_cloudformation_stack" {
    defaults = {
      outputs = {
        TableName                      = "table"
        NodeRoleName                   = "nodes"
        NodeRoleArn                    = "arn:aws:iam::123456789012:role/nodes"
        ProvisionFunctionName          = "journeyman-provision"
        ProvisionRoleArn               = "arn:aws:iam::123456789012:role/provision"
        DisruptRoleArn                 = "arn:aws:iam::123456789012:role/disrupt"
        LaunchRoleArn                  = "arn:aws:iam::123456789012:role/launch"
        SettleRoleArn                  = "arn:aws:iam::123456789012:role/settle"
        DrainRoleArn                   = "arn:aws:iam::123456789012:role/drain"
        ResolveRoleArn                 = "arn:aws:iam::123456789012:role/resolve"
        SweepRoleArn                   = "arn:aws:iam::123456789012:role/sweep"
        CatalogRoleArn                 = "arn:aws:iam::123456789012:role/catalog"
        InterruptionQueueUrl           = "https://sqs.us-west-2.amazonaws.com/123456789012/interruption"
        InterruptionDeadLetterQueueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/interruption-dead"
        FunctionsUrl                   = "https://us-west-2.console.aws.amazon.com/lambda"
      }
    }
  }
}

variables {
  cluster_name  = "my-cluster"
  bucket        = "artifacts"
  template_file = "tests/module.tftest.hcl"
}

run "defaults" {
  assert {
    condition     = aws_cloudformation_stack.this.parameters["ClusterName"] == "my-cluster"
    error_message = "The stack does not get the cluster's name."
  }
  assert {
    condition     = aws_cloudformation_stack.this.parameters["CreateAccessEntries"] == "true" && aws_cloudformation_stack.this.parameters["LogRetentionDays"] == "30"
    error_message = "CloudFormation takes texts."
  }
  assert {
    condition     = aws_cloudformation_stack.this.template_url == "https://s3.us-west-2.amazonaws.com/artifacts/journeyman/template-${sha256(trimspace(file("tests/module.tftest.hcl")))}.yaml"
    error_message = "The address of the template does not depend on its content."
  }
  assert {
    condition     = length(aws_s3_object.zip) == 0 && !contains(keys(aws_cloudformation_stack.this.parameters), "ArtifactBucket")
    error_message = "A template of AWS SAM has the addresses of its functions, and no parameters for them."
  }
  assert {
    condition     = length(aws_ec2_tag.discovery) == 0
    error_message = "Something is tagged that was not listed."
  }
  assert {
    condition     = output.function_role_arns["provision"] == "arn:aws:iam::123456789012:role/provision" && !contains(keys(output.function_role_arns), "node")
    error_message = "Roles of functions are not by function."
  }
  assert {
    condition     = join(",", concat(keys(output.queue_urls), keys(output.dead_letter_queue_urls), keys(output.console_urls))) == "interruption,interruption,functions"
    error_message = "Addresses are not sorted by what they lead to."
  }
  assert {
    condition     = length(output.aws_auth_roles) == 8 && contains(output.aws_auth_roles[7].groups, "system:nodes") && !contains(output.aws_auth_roles[*].username, "journeyman:catalog")
    error_message = "aws-auth admits functions that need no access, or lacks nodes."
  }
}

run "release" {
  variables {
    template_file = null
    release_dir   = "tests/release"
    stack_name    = "second"
    architecture  = "arm64"
  }
  assert {
    condition     = [for object in aws_s3_object.zip : object.key] == ["second/provision-arm64-36b9f3cc096962b6327e84a5099d13230e4cc911a65f77b89b7e58eae5730b63.zip"]
    error_message = "The zips of the architecture are not uploaded as `journeyman deploy` names them."
  }
  assert {
    condition     = aws_cloudformation_stack.this.parameters["ArtifactBucket"] == "artifacts" && aws_cloudformation_stack.this.parameters["ArtifactPrefix"] == "second/"
    error_message = "The stack does not know where its functions are."
  }
}

run "no_template" {
  command = plan

  variables {
    template_file = null
  }
  expect_failures = [aws_s3_object.template]
}

run "two_templates" {
  command = plan

  variables {
    release_dir = "tests/release"
  }
  expect_failures = [aws_s3_object.template]
}

run "release_of_a_checkout" {
  command = plan

  variables {
    template_file = null
    release_dir   = "../.."
  }
  expect_failures = [aws_s3_object.template]
}

run "damaged_release" {
  command = plan

  variables {
    template_file = null
    release_dir   = "tests/damaged"
  }
  expect_failures = [aws_s3_object.zip]
}

run "lists_and_tags" {
  variables {
    subnet_ids          = ["subnet-1", "subnet-2"]
    discovery_resources = { a = "subnet-1", nodes = "sg-1" }
  }
  assert {
    condition     = aws_cloudformation_stack.this.parameters["SubnetIds"] == "subnet-1,subnet-2"
    error_message = "A list is not joined by commas."
  }
  assert {
    condition     = aws_ec2_tag.discovery["nodes"].resource_id == "sg-1" && { (aws_ec2_tag.discovery["a"].key) = aws_ec2_tag.discovery["a"].value } == output.discovery_tags
    error_message = "Tags are not those of output discovery_tags."
  }
}

run "refused" {
  command = plan

  variables {
    cluster_name        = "my cluster"
    stack_name          = "my_stack"
    discovery_resources = { a = "vpc-1" }
    node_role_arns      = ["arn:aws:iam::123456789012:role/*"]
    packing             = "tight"
    reserved_enis       = 0.5
  }
  expect_failures = [
    var.cluster_name,
    var.stack_name,
    var.discovery_resources,
    var.node_role_arns,
    var.packing,
    var.reserved_enis,
  ]
}
