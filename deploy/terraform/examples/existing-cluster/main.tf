# Journeyman in a cluster that exists: docs/terraform.md goes through it.

variable "cluster_name" {
  description = "Name of the EKS cluster."
  type        = string
}

variable "bucket" {
  description = "Name of an S3 bucket in the region of the cluster, for template and functions."
  type        = string
}

variable "release_dir" {
  description = "Directory of an unpacked release, `journeyman-VERSION-stack`."
  type        = string
  default     = null
}

variable "template_file" {
  description = "Without a release: path of the template that `sam package` wrote."
  type        = string
  default     = null
}

data "aws_eks_cluster" "this" {
  name = var.cluster_name
}

locals {
  network = data.aws_eks_cluster.this.vpc_config[0]
  # A ConfigMap aws-auth is all that such a cluster has.
  has_access_entries = one(data.aws_eks_cluster.this.access_config[*].authentication_mode) != "CONFIG_MAP"
}

module "journeyman" {
  source = "../.."

  cluster_name          = var.cluster_name
  bucket                = var.bucket
  release_dir           = var.release_dir
  template_file         = var.template_file
  create_node_role      = true
  create_access_entries = local.has_access_entries
  discovery_resources = merge(
    { for id in local.network.subnet_ids : id => id },
    { cluster-security-group = local.network.cluster_security_group_id },
  )
}

output "node_role_name" {
  description = "For `spec.role` of EC2NodeClasses."
  value       = module.journeyman.node_role_name
}

output "aws_auth_roles" {
  description = "For `mapRoles` of the ConfigMap aws-auth, if the cluster has no access entries."
  value       = module.journeyman.aws_auth_roles
}

output "queue_urls" {
  description = "The queues of the functions."
  value       = module.journeyman.queue_urls
}
