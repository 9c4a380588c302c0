// Package implementation knows the products under test. What differs between
// them is data: a folder for each, with an implementation.yaml and the Helm
// values that belong to it. No Go code asks which implementation it deals
// with.
//
// Strings in the data may hold Go templates over Vars: the version, the
// release and, where something belongs to one Gateway, that Gateway.
package implementation
