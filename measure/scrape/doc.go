// Package scrape reads the Prometheus endpoints of an implementation's pods
// every few seconds, as a monitoring system would: how many series they give
// out, and what Go programs tell of their heap, their garbage collector and
// their allocations. Being scraped is work for the scraped, and it is in their
// CPU time as it is in production; how much a scrape takes is kept beside the
// numbers, and scraping can be off.
package scrape
