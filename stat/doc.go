// Package stat turns samples into summaries that say no more than the samples
// carry. What a sample is too small for, or what lies beyond the time that it
// was waited for, is absent, and a warning says how many samples would do.
//
// The package makes no assumption about distributions: latencies and
// convergence times are skewed, lumpy and bounded, so everything rests on
// order statistics. A mean is given because people ask for one; no interval
// is built on it.
//
// Definitions. The quantile q of n samples is the smallest sample with at
// least a share q of all samples at or below it (nearest rank, no
// interpolation): every quantile is a value that was measured. Bounds of the
// median are order statistics whose binomial coverage is at least the asked
// confidence.
package stat
