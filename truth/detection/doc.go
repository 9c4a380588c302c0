// Package detection is the instrument's own test: scenarios measure truth with
// one thing wrong at a time, in three sizes, from where a user begins to care
// up to gross. Exactly the findings must come that tell of it, and none where
// nothing is wrong. The matrix is data: see Matrix. It grows with the scenarios
// and the faults.
package detection
