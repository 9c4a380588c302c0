package scenario

// BaseManifest is for the tests that use scenariotest, which imports this
// package.
var BaseManifest = baseManifest
