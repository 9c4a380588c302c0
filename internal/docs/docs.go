// Package docs holds the tests of README.md and docs: links lead somewhere,
// command lines can be run, plans resolve, and what the code measures is
// documented under the names that it uses.
package docs
