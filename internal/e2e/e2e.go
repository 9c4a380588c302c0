// Package e2e tests gatemark as a user has it: the executable, a real local
// cluster, a real gateway. Its tests run where GATEMARK_E2E=1 is set.
package e2e
