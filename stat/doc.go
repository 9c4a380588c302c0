// Package stat turns samples into summaries and comparisons that say no more
// than the samples carry. What a sample is too small for, or what lies beyond
// the time that it was waited for, is absent, and a warning says how many
// samples would do.
//
//   - Summarize: one set of samples: quantiles, and bounds of the median.
//   - Compare: two sets: is there a difference, and how large is it. Holm
//     adjusts a family of such answers.
//   - Paired: differences within pairs, when what both sides have in common is
//     to drop out.
//   - KaplanMeier, LogRank: times of which some were not seen to end.
//   - FindTrend: does it grow.
//
// The package makes no assumption about distributions: latencies and
// convergence times are skewed, lumpy and bounded, so everything but Paired,
// which is a bootstrap, rests on order statistics and ranks. A mean is given in
// a Summary because people ask for one; no interval is built on it.
//
// Definitions. The quantile q of n samples is the smallest sample with at
// least a share q of all samples at or below it (nearest rank, no
// interpolation): every quantile is a value that was measured. Bounds of the
// median are order statistics whose binomial coverage is at least the asked
// confidence.
//
// Samples are independent unless InOrder says that each may be like the one
// before it. What intervals really cover, with independent samples and with
// others, is measured by the tests of this package.
package stat
