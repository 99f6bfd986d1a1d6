locals {
  discovery_key = "karpenter.sh/discovery"
  # Without the bucket's name in the host, names with dots work, too.
  s3 = "https://${trimprefix(data.aws_s3_bucket.this.bucket_regional_domain_name, "${var.bucket}.")}/${var.bucket}"

  is_release    = var.release_dir != null
  template_file = local.is_release ? "${var.release_dir}/template.yaml" : var.template_file
  template      = local.template_file == null ? "" : file(local.template_file)
  # As `journeyman deploy` names its files: with the stack's default name, it finds those of the module, and the module its.
  prefix       = "${var.stack_name}/"
  template_key = "${local.prefix}template-${sha256(replace(local.template, "/\\s+$/", ""))}.yaml"
  zips         = toset(local.is_release ? regexall("[a-z]+-${var.architecture}-[0-9a-f]{64}\\.zip", local.template) : [])
}

data "aws_s3_bucket" "this" {
  bucket = var.bucket
}

# Code of the functions. The stack's former zips are deleted after its update: CloudFormation reads them if the update fails.
resource "aws_s3_object" "zip" {
  for_each = local.zips

  bucket = data.aws_s3_bucket.this.bucket
  key    = "${local.prefix}${each.key}"
  source = "${var.release_dir}/${each.key}"
  tags   = var.tags

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = endswith(each.key, "-${filesha256("${var.release_dir}/${each.key}")}.zip")
      error_message = "${var.release_dir}/${each.key} does not have the checksum of its name: download the release again."
    }
  }
}

# Terraform updates a stack if the address of its template changes, so the address depends on the content. The former
# template is an instance of its own: after a failed update, the way back finds it in the state as it is in the bucket.
resource "aws_s3_object" "template" {
  for_each = toset([local.template_key])

  bucket = data.aws_s3_bucket.this.bucket
  key    = each.key
  source = local.template_file
  tags   = var.tags

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = (var.template_file == null) == local.is_release
      error_message = "Set one of release_dir and template_file."
    }
    precondition {
      condition     = !local.is_release || length(local.zips) > 0
      error_message = "${local.is_release ? local.template_file : ""} names no zips: it is the template of a checkout, not of a release."
    }
  }
}

resource "aws_cloudformation_stack" "this" {
  name         = var.stack_name
  template_url = "${local.s3}/${aws_s3_object.template[local.template_key].key}"
  # The functions' roles, and the transform of AWS SAM.
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  # CloudFormation hides WakeKey, so that Terraform would plan a change each time: an empty one is left out.
  parameters = merge(
    { for name, value in local.parameters : name => value if name != "WakeKey" || nonsensitive(var.wake_key != "") },
    local.is_release ? { ArtifactBucket = var.bucket, ArtifactPrefix = local.prefix } : {},
  )
  tags = var.tags

  depends_on = [aws_s3_object.zip]
}

resource "aws_ec2_tag" "discovery" {
  for_each = var.discovery_resources

  resource_id = each.value
  key         = local.discovery_key
  value       = var.cluster_name
}
