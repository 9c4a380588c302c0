package config

import "strings"

// MatchHost reports whether a host is one that a pattern stands for. An empty
// pattern stands for all; "*.a" for every host that ends in ".a".
func MatchHost(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return len(host) > len(suffix) && strings.HasSuffix(host, suffix)
	}
	return pattern == "" || pattern == host
}

// MoreSpecific orders patterns that match the same host: exact ones before
// wildcards, longer ones before shorter ones, and the empty pattern last.
func MoreSpecific(a, b string) bool {
	exactA, exactB := a != "" && a[0] != '*', b != "" && b[0] != '*'
	if exactA != exactB {
		return exactA
	}
	return len(a) > len(b)
}

// Intersect returns the hosts that a listener and a route have in common, as
// patterns; ok tells whether there are any. No patterns, and ok, are all hosts.
func Intersect(listener string, route []string) (common []string, ok bool) {
	if len(route) == 0 {
		if listener == "" {
			return nil, true
		}
		return []string{listener}, true
	}
	for _, r := range route {
		switch {
		case listener == "" || r == listener || strings.HasPrefix(listener, "*") && within(listener, r):
			common = append(common, r)
		case strings.HasPrefix(r, "*") && within(r, listener):
			common = append(common, listener)
		}
	}
	return common, len(common) > 0
}

// within reports whether all that inner stands for, outer does too.
func within(outer, inner string) bool {
	return MatchHost(outer, strings.TrimPrefix(inner, "*"))
}
