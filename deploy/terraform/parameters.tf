# Made of template.yaml by UPDATE_EXPECT=1 cargo test --package tests --test tidy the_module_has

locals {
  parameters = {
    ClusterName                   = var.cluster_name
    NodeRoleArns                  = join(",", var.node_role_arns)
    CreateNodeRole                = var.create_node_role
    CreateWindowsNodeRole         = var.create_windows_node_role
    ImageParameterArns            = join(",", var.image_parameter_arns)
    SubnetIds                     = join(",", var.subnet_ids)
    SecurityGroupIds              = join(",", var.security_group_ids)
    ClusterEndpoint               = var.cluster_endpoint
    ClusterCaBundle               = var.cluster_ca_bundle
    CreateAccessEntries           = var.create_access_entries
    PermissionsBoundaryArn        = var.permissions_boundary_arn
    Architecture                  = var.architecture
    FeatureGates                  = var.feature_gates
    PreferencePolicy              = var.preference_policy
    MinValuesPolicy               = var.min_values_policy
    IgnoreDraRequests             = var.ignore_dra_requests
    SchedulerConfig               = var.scheduler_config
    BatchMaxDuration              = var.batch_max_duration
    BatchIdleDuration             = var.batch_idle_duration
    VmMemoryOverheadPercent       = var.vm_memory_overhead_percent
    ReservedEnis                  = var.reserved_enis
    IsolatedVpc                   = var.isolated_vpc
    DisableDryRun                 = var.disable_dry_run
    EnableZonalShift              = var.enable_zonal_shift
    RebalanceRecommendations      = var.rebalance_recommendations
    AutoscalerAnnotations         = var.autoscaler_annotations
    PollIntervalSeconds           = var.poll_interval_seconds
    WakeRestSeconds               = var.wake_rest_seconds
    Consolidation                 = var.consolidation
    Packing                       = var.packing
    NodeCharge                    = var.node_charge
    WorkloadRest                  = var.workload_rest
    ReplacementSaving             = var.replacement_saving
    MoveSaving                    = var.move_saving
    MovesPerHour                  = var.moves_per_hour
    Metrics                       = var.metrics
    MaxDollarsPerHour             = var.max_dollars_per_hour
    Record                        = var.record
    KarpenterNamespaces           = var.karpenter_namespaces
    WakeKey                       = var.wake_key
    WakeEndpoint                  = var.wake_endpoint
    WakeVpcEndpointId             = var.wake_vpc_endpoint_id
    OtlpEndpoint                  = var.otlp_endpoint
    HandleInterruptions           = var.handle_interruptions
    LogLevel                      = var.log_level
    LogRetentionDays              = var.log_retention_days
    ReserveConcurrency            = var.reserve_concurrency
    ExistingTableName             = var.existing_table_name
    TableKmsKeyArn                = var.table_kms_key_arn
    AlarmTopicArn                 = var.alarm_topic_arn
    CreateDashboard               = var.create_dashboard
    TableDeletionProtection       = var.table_deletion_protection
    KeepFormerRelease             = var.keep_former_release
    MaxReceiveCount               = var.max_receive_count
    InterruptionVisibilitySeconds = var.interruption_visibility_seconds
  }

  # The groups of the functions that need access to the cluster. RBAC says what each group may do.
  kubernetes_groups = {
    disrupt   = "journeyman:disrupt"
    drain     = "journeyman:drain"
    launch    = "journeyman:launch"
    provision = "journeyman:provision"
    resolve   = "journeyman:resolve"
    settle    = "journeyman:settle"
    sweep     = "journeyman:sweep"
  }
}

variable "cluster_name" {
  description = "Name of the EKS cluster that gets its nodes from this stack."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must match ^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$."
  }
}

variable "node_role_arns" {
  description = "Roles that nodes may have: the values of `spec.role` of EC2NodeClasses, as ARNs. Empty: `KarpenterNodeRole-<cluster>`."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for item in var.node_role_arns : can(regex("^(arn:[a-z-]+:iam::[0-9]{12}:role/[^*?]+)?$", item))])
    error_message = "node_role_arns must have items that match ^(arn:[a-z-]+:iam::[0-9]{12}:role/[^*?]+)?$."
  }
}

variable "create_node_role" {
  description = "Create a role for nodes that can join, pull images and use SSM. Output node_role_name has its name. False: use node_role_arns."
  type        = bool
  default     = false
  nullable    = false
}

variable "create_windows_node_role" {
  description = "With create_node_role, also create a role for Windows nodes. Output windows_node_role_name has its name."
  type        = bool
  default     = false
  nullable    = false
}

variable "image_parameter_arns" {
  description = "ARNs of SSM parameters that amiSelectorTerms of EC2NodeClasses name (ssmParameter), such as `arn:aws:ssm:us-west-2:123456789012:parameter/images/*`. Empty: only AWS's public parameters."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "subnet_ids" {
  description = "Subnets of the functions, for a cluster with a private endpoint: `subnet-…,subnet-…`. They need a NAT gateway or VPC endpoints (docs/install.md). Empty: the functions run outside a VPC."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "security_group_ids" {
  description = "Security groups of the functions, with subnet_ids. They must reach the cluster's API server."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "cluster_endpoint" {
  description = "URL of the cluster's API server, `https://…`. Empty: the functions ask EKS."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(https://[!-~]+)?$", var.cluster_endpoint))
    error_message = "cluster_endpoint must be empty or an address that begins with https://."
  }
}

variable "cluster_ca_bundle" {
  description = "Certificate authority of the cluster's API server, in base64. Empty: the functions ask EKS."
  type        = string
  default     = ""
  nullable    = false
}

variable "create_access_entries" {
  description = "Create EKS access entries for the functions' roles. Set false if the cluster uses aws-auth, or another stack owns the entries."
  type        = bool
  default     = true
  nullable    = false
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary of the functions' roles. Empty: none."
  type        = string
  default     = ""
  nullable    = false
}

variable "architecture" {
  description = "Processor that the functions are built for. It does not affect nodes."
  type        = string
  default     = "x86_64"
  nullable    = false

  validation {
    condition     = contains(["x86_64", "arm64"], var.architecture)
    error_message = "architecture must be one of x86_64, arm64."
  }
}

variable "feature_gates" {
  description = "Karpenter's FEATURE_GATES, such as `SpotToSpotConsolidation=true`. Opens and closes feature gates. Gates that are not listed have their defaults. Must be a list such as `SpotToSpotConsolidation=true` of the gates CapacityBuffer, DRAEFA, DRANVIDIAGPU, NodeClassCEL, NodeOverlay, NodeRepair, PodDeletionCostManagement, RebootForRepair, ReservedCapacity, SpotToSpotConsolidation, StaticCapacity, TerminateFirstDrift, TerminateFirstRepair."
  type        = string
  default     = ""
  nullable    = false
}

variable "preference_policy" {
  description = "Karpenter's PREFERENCE_POLICY. `Respect` drops a pod's preferences one by one only if no node can be launched with them. `Ignore` ignores preferences."
  type        = string
  default     = "Respect"
  nullable    = false

  validation {
    condition     = contains(["Respect", "Ignore"], var.preference_policy)
    error_message = "preference_policy must be one of Respect, Ignore."
  }
}

variable "min_values_policy" {
  description = "Karpenter's MIN_VALUES_POLICY. `Strict` keeps `minValues` of NodePools. `BestEffort` lowers them to the values that exist, and marks the NodeClaim."
  type        = string
  default     = "Strict"
  nullable    = false

  validation {
    condition     = contains(["Strict", "BestEffort"], var.min_values_policy)
    error_message = "min_values_policy must be one of Strict, BestEffort."
  }
}

variable "ignore_dra_requests" {
  description = "Karpenter's IGNORE_DRA_REQUESTS. `true`: pods with ResourceClaims stay pending, and are reported. `false`: they are scheduled with their devices. The gates `DRANVIDIAGPU` and `DRAEFA` imply `false`."
  type        = bool
  default     = true
  nullable    = false
}

variable "scheduler_config" {
  description = "Karpenter's SCHEDULER_CONFIG. Topology spread constraints for pods that have none, as a profile of kube-scheduler defines them. Set the same ones in kube-scheduler. Services and controllers decide which pods count together. Must be `podTopologySpread.defaultConstraints` in YAML or JSON."
  type        = string
  default     = ""
  nullable    = false
}

variable "batch_max_duration" {
  description = "Karpenter's BATCH_MAX_DURATION. Longest time for which `provision` gathers pending pods before it plans. Must be a duration such as `1.5s` from 0s to 30s."
  type        = string
  default     = "10s"
  nullable    = false
}

variable "batch_idle_duration" {
  description = "Karpenter's BATCH_IDLE_DURATION. `provision` plans when no pod has arrived for this time. Must be a duration such as `1.5s` from 0s to 30s."
  type        = string
  default     = "1s"
  nullable    = false
}

variable "vm_memory_overhead_percent" {
  description = "Karpenter's VM_MEMORY_OVERHEAD_PERCENT. Share of an instance's memory reserved for firmware and kernel, until a node of its type and image has joined. Must be a decimal such as `0.075` from 0 to 1."
  type        = string
  default     = "0.075"
  nullable    = false
}

variable "reserved_enis" {
  description = "Karpenter's RESERVED_ENIS. Network interfaces per node that pods do not use. They lower the number of pods per node."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.reserved_enis >= 0 && var.reserved_enis <= 64 && floor(var.reserved_enis) == var.reserved_enis
    error_message = "reserved_enis must be a whole number from 0 to 64."
  }
}

variable "isolated_vpc" {
  description = "Karpenter's ISOLATED_VPC. For functions in a VPC without internet access: use built-in on-demand prices, because the pricing API has no VPC endpoint."
  type        = bool
  default     = false
  nullable    = false
}

variable "disable_dry_run" {
  description = "Karpenter's DISABLE_DRY_RUN. EC2NodeClasses become ready without a dry run of a launch."
  type        = bool
  default     = false
  nullable    = false
}

variable "enable_zonal_shift" {
  description = "Karpenter's ENABLE_ZONAL_SHIFT. Launch nothing in a zone while cluster traffic is shifted away from it, checked each minute. Zonal shift must be enabled for the cluster."
  type        = bool
  default     = false
  nullable    = false
}

variable "rebalance_recommendations" {
  description = "EC2's recommendations to leave a spot instance. `ignore`: do nothing, as Karpenter. `replace-first`: the node counts as drifted, and is replaced within budgets."
  type        = string
  default     = "ignore"
  nullable    = false

  validation {
    condition     = contains(["ignore", "replace-first"], var.rebalance_recommendations)
    error_message = "rebalance_recommendations must be one of ignore, replace-first."
  }
}

variable "autoscaler_annotations" {
  description = "`honor`: the annotations of Cluster Autoscaler `safe-to-evict: \"false\"` on pods and `scale-down-disabled: \"true\"` on nodes count as `karpenter.sh/do-not-disrupt: \"true\"`. `ignore`: they do nothing, as in Karpenter."
  type        = string
  default     = "ignore"
  nullable    = false

  validation {
    condition     = contains(["ignore", "honor"], var.autoscaler_annotations)
    error_message = "autoscaler_annotations must be one of ignore, honor."
  }
}

variable "poll_interval_seconds" {
  description = "Seconds between checks for pending pods. For ten minutes after a pod needed a node, the interval is one second."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.poll_interval_seconds >= 1 && var.poll_interval_seconds <= 60 && floor(var.poll_interval_seconds) == var.poll_interval_seconds
    error_message = "poll_interval_seconds must be a whole number from 1 to 60."
  }
}

variable "wake_rest_seconds" {
  description = "Seconds between checks for pending pods while the API server calls `wake` and no pod is pending. Without `wake`, `poll_interval_seconds` counts."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.wake_rest_seconds >= 5 && var.wake_rest_seconds <= 120 && floor(var.wake_rest_seconds) == var.wake_rest_seconds
    error_message = "wake_rest_seconds must be a whole number from 5 to 120."
  }
}

variable "consolidation" {
  description = "`karpenter` searches as Karpenter does. `thorough` also checks each node alone, more sets of nodes, and several replacements at once, and never saves less than Karpenter's choice."
  type        = string
  default     = "karpenter"
  nullable    = false

  validation {
    condition     = contains(["karpenter", "thorough"], var.consolidation)
    error_message = "consolidation must be one of karpenter, thorough."
  }
}

variable "packing" {
  description = "How pods share new nodes of NodePools without the annotation `journeyman/packing`. `cheapest` keeps the same rules and chooses the cheapest nodes, never dearer than Karpenter's choice for the same pods."
  type        = string
  default     = "karpenter"
  nullable    = false

  validation {
    condition     = contains(["karpenter", "cheapest"], var.packing)
    error_message = "packing must be one of karpenter, cheapest."
  }
}

variable "node_charge" {
  description = "Virtual surcharge per node, in dollars an hour, when Journeyman compares fleets by price. Higher values favour fewer, larger nodes. AWS charges nothing for it, and price caps ignore it."
  type        = string
  default     = "0"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]+([.][0-9]+)?$", var.node_charge))
    error_message = "node_charge must be a decimal number of dollars such as `0.01`."
  }
}

variable "workload_rest" {
  description = "How long consolidation avoids a workload after moving one of its pods. Must be a duration such as `1.5s` from 0s to 86400s."
  type        = string
  default     = "0s"
  nullable    = false
}

variable "replacement_saving" {
  description = "Least share of the old nodes' price that a replacement must save. Above `0`, a replacement also has another type or capacity type. Karpenter replaces for any saving. Must be a decimal such as `0.075` from 0 to 1."
  type        = string
  default     = "0"
  nullable    = false
}

variable "move_saving" {
  description = "Least saving per moved pod, in dollars a month (730 hours), for consolidation. `0`: any saving is enough, as in Karpenter."
  type        = string
  default     = "0"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]+([.][0-9]+)?$", var.move_saving))
    error_message = "move_saving must be a decimal number of dollars such as `0.01`."
  }
}

variable "moves_per_hour" {
  description = "Maximum pods that consolidation and drift evict per hour. `0`: no maximum, as in Karpenter. Interruption, expiration, repair and deletion do not wait."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.moves_per_hour >= 0 && var.moves_per_hour <= 1000000 && floor(var.moves_per_hour) == var.moves_per_hour
    error_message = "moves_per_hour must be a whole number from 0 to 1000000."
  }
}

variable "metrics" {
  description = "Which metrics go to CloudWatch, which charges for each. `cluster`: four for the cluster. `nodepool`: all, for the cluster and each NodePool. docs/metrics.md lists them and their cost."
  type        = string
  default     = "cluster"
  nullable    = false

  validation {
    condition     = contains(["cluster", "nodepool", "none"], var.metrics)
    error_message = "metrics must be one of cluster, nodepool, none."
  }
}

variable "max_dollars_per_hour" {
  description = "Maximum price of all nodes of NodePools together, in dollars an hour. Journeyman launches nothing that might exceed it."
  type        = string
  default     = "none"
  nullable    = false

  validation {
    condition     = can(regex("^(none|[0-9]+([.][0-9]+)?)$", var.max_dollars_per_hour))
    error_message = "max_dollars_per_hour must be a decimal number of dollars such as `12.5`, or `none`."
  }
}

variable "record" {
  description = "What is kept of each decision for 90 days. `facts` adds the inputs of the decision, up to some hundred kilobytes, so that `journeyman replay` can repeat it."
  type        = string
  default     = "decisions"
  nullable    = false

  validation {
    condition     = contains(["decisions", "facts"], var.record)
    error_message = "record must be one of decisions, facts."
  }
}

variable "karpenter_namespaces" {
  description = "Namespaces that Karpenter may run in. While its lease `karpenter-leader-election` is held in one of them, the functions pause. In other namespaces the lease is only logged. Must be a list of namespaces such as `kube-system,karpenter`."
  type        = string
  default     = "kube-system,karpenter"
  nullable    = false
}

variable "wake_key" {
  description = "Secret of the function `wake`, 32 or more characters such as those of `openssl rand -hex 32`. With a key, the API server can call `wake`, and pending pods get nodes without waiting for the next poll. Reserves 2 executions of Lambda. Empty: no function `wake`."
  type        = string
  default     = ""
  nullable    = false
  sensitive   = true

  validation {
    condition     = can(regex("^([!-~]{32,})?$", var.wake_key))
    error_message = "wake_key must be empty or 32 or more letters, digits and signs without spaces."
  }
}

variable "wake_endpoint" {
  description = "How the API server reaches `wake`. `url`: a function URL, over the internet. `private`: a private REST API behind wake_vpc_endpoint_id, for clusters whose control plane egress is CUSTOMER_ROUTED."
  type        = string
  default     = "url"
  nullable    = false

  validation {
    condition     = contains(["url", "private"], var.wake_endpoint)
    error_message = "wake_endpoint must be one of url, private."
  }
}

variable "wake_vpc_endpoint_id" {
  description = "VPC endpoint of the service `execute-api` that the API server reaches, with wake_endpoint `private`: `vpce-…`."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(vpce-[0-9a-f]+)?$", var.wake_vpc_endpoint_id))
    error_message = "wake_vpc_endpoint_id must be empty or the id of a VPC endpoint."
  }
}

variable "otlp_endpoint" {
  description = "OpenTelemetry collector for metrics and spans over HTTP (port 4318), such as `http://collector.example:4318`. The functions must reach it, and send requests without a signature. Empty: none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(https?://.+)?$", var.otlp_endpoint))
    error_message = "otlp_endpoint must match ^(https?://.+)?$."
  }
}

variable "handle_interruptions" {
  description = "Handle spot interruptions, interruptions of capacity reservations, and ended instances. False (as Karpenter without INTERRUPTION_QUEUE): the EventBridge rules are off, and `sweep` finds ended instances."
  type        = bool
  default     = true
  nullable    = false
}

variable "log_level" {
  description = "Lowest level of log lines. There are no debug lines: those of the AWS SDKs contain credentials."
  type        = string
  default     = "info"
  nullable    = false

  validation {
    condition     = contains(["error", "warn", "info"], var.log_level)
    error_message = "log_level must be one of error, warn, info."
  }
}

variable "log_retention_days" {
  description = "Days for which CloudWatch keeps the functions' logs."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_retention_days)
    error_message = "log_retention_days must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731."
  }
}

variable "reserve_concurrency" {
  description = "Reserve Lambda concurrency for each function, so that other functions of the account cannot throttle Journeyman. Lambda refuses if fewer than 100 executions of the account stay unreserved."
  type        = bool
  default     = false
  nullable    = false
}

variable "existing_table_name" {
  description = "Use this table, which a stack of this template created in the account and region (docs/install.md). This stack never deletes it. Empty: create a table."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([a-zA-Z0-9_.-]{3,255})?$", var.existing_table_name))
    error_message = "existing_table_name must match ^([a-zA-Z0-9_.-]{3,255})?$."
  }
}

variable "table_kms_key_arn" {
  description = "KMS key for the table, which the functions' roles must be allowed to use. Empty: the key that DynamoDB owns, without cost."
  type        = string
  default     = ""
  nullable    = false
}

variable "alarm_topic_arn" {
  description = "SNS topic for alarms. Empty: no alarms. AWS charges for each alarm per month."
  type        = string
  default     = ""
  nullable    = false
}

variable "create_dashboard" {
  description = "Create a CloudWatch dashboard of functions, queues and errors. AWS charges from an account's fourth dashboard on."
  type        = bool
  default     = false
  nullable    = false
}

variable "table_deletion_protection" {
  description = "Refuse to delete the table, which records which instances belong to the cluster. False only allows deleting it by hand: the table remains when the stack is deleted."
  type        = bool
  default     = true
  nullable    = false
}

variable "keep_former_release" {
  description = "For an update from the release of commit 405e221 (docs/upgrade.md): deploy with true first, then with false."
  type        = bool
  default     = false
  nullable    = false
}

variable "max_receive_count" {
  description = "Deliveries of a message before it moves to the dead-letter queue."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.max_receive_count >= 1 && var.max_receive_count <= 1000 && floor(var.max_receive_count) == var.max_receive_count
    error_message = "max_receive_count must be a whole number from 1 to 1000."
  }
}

variable "interruption_visibility_seconds" {
  description = "Seconds before a failed interruption message is delivered again: three times the function's timeout. Six times, as Lambda recommends, would use up a spot notice."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.interruption_visibility_seconds >= 1 && var.interruption_visibility_seconds <= 43200 && floor(var.interruption_visibility_seconds) == var.interruption_visibility_seconds
    error_message = "interruption_visibility_seconds must be a whole number from 1 to 43200."
  }
}
