// Package result is the one schema of what gatemark measured: a Run is a
// directory of Trials, and a Trial carries its metrics, findings, series,
// events and validity gates. Everything that a report shows stands in these
// types; reports need no cluster and no code of the scenario that ran, so that
// old runs can be rendered for ever.
//
// Units: times are seconds (float64) or RFC 3339 instants, sizes bytes, CPU is
// CPU-seconds. Scaling happens only in print. A missing number is absent
// (null), never zero.
package result
