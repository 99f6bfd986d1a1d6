locals {
  discovery_key = "karpenter.sh/discovery"
  # Without the bucket's name in the host, names with dots work, too.
  s3 = "https://${trimprefix(data.aws_s3_bucket.this.bucket_regional_domain_name, "${var.bucket}.")}/${var.bucket}"
}

data "aws_s3_bucket" "this" {
  bucket = var.bucket
}

# Terraform updates a stack if the address of its template changes, so the address depends on the content.
resource "aws_s3_object" "template" {
  bucket = data.aws_s3_bucket.this.bucket
  key    = "${var.stack_name}-${filemd5(var.template_file)}.yaml"
  source = var.template_file
  tags   = var.tags

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_cloudformation_stack" "this" {
  name         = var.stack_name
  template_url = "${local.s3}/${aws_s3_object.template.key}"
  # The functions' roles, and the transform of AWS SAM.
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  # CloudFormation hides WakeKey, so that Terraform would plan a change each time: an empty one is left out.
  parameters = {
    for name, value in local.parameters : name => value if name != "WakeKey" || nonsensitive(var.wake_key != "")
  }
  tags = var.tags
}

resource "aws_ec2_tag" "discovery" {
  for_each = var.discovery_resources

  resource_id = each.value
  key         = local.discovery_key
  value       = var.cluster_name
}
