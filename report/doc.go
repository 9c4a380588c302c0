// Package report renders a run for its readers: HTML, Markdown, JSON and text
// for a terminal. It reads nothing but the run's directory and reaches no
// cluster, so that old runs can be rendered for ever.
//
// Every format shows the same things in the same order, so that a reader sees
// at once what was measured, on what, and how sure we are: the verdict in
// words, findings, headline numbers, then each scenario in full, then where it
// ran. What all formats share is worked out once, in a view; a format only
// writes it down. A format is one file, and one row in formats.
//
// Numbers of invalid trials never enter a summary. Where a scenario was
// repeated, the trial is the unit: the summary is the median of the trials'
// medians, with bounds from six trials on, and each trial's median beside it.
package report
