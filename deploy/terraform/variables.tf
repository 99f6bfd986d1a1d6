# Variables of the module. The stack's parameters are in parameters.tf.

variable "release_dir" {
  description = "Directory of an unpacked release, `journeyman-VERSION-stack`: a template, and the zips of the functions. Without it, set `template_file`."
  type        = string
  default     = null
}

variable "template_file" {
  description = "Path of the packaged template of a checkout: what `sam package --output-template-file` wrote. Without it, set `release_dir`."
  type        = string
  default     = null
}

variable "bucket" {
  description = "Name of an S3 bucket in the region of the cluster. The module puts the template and the zips of a release there, with keys that begin with the stack's name."
  type        = string
  nullable    = false
}

variable "stack_name" {
  description = "Name of the CloudFormation stack. Each cluster needs its own stack."
  type        = string
  default     = "journeyman"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,127}$", var.stack_name))
    error_message = "stack_name must begin with a letter, and have at most 128 letters, digits and hyphens."
  }
}

variable "discovery_resources" {
  description = "IDs of the subnets and security groups of nodes, by keys of your choice. The module tags each with `karpenter.sh/discovery`. Leave out what another configuration tags: merge output `discovery_tags` into its tags instead."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for id in values(var.discovery_resources) : can(regex("^(subnet|sg)-", id))])
    error_message = "discovery_resources must have IDs as values, such as subnet-0123456789abcdef0 or sg-0123456789abcdef0."
  }
}

variable "tags" {
  description = "Tags of the stack, which CloudFormation copies to its resources, and of the template in the bucket. They are not tags of nodes: set those in `spec.tags` of EC2NodeClasses."
  type        = map(string)
  default     = {}
  nullable    = false
}
