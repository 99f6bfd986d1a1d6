//go:build tools

// Package e2e names what the suites of Karpenter need, so that go.mod has it.
package e2e

import (
	_ "sigs.k8s.io/karpenter/pkg/test"
	_ "sigs.k8s.io/karpenter/test/pkg/environment/common"
)
