package load

import (
	"errors"
	"fmt"
)

// Split deals the options of one attack out to n attackers, each with as many
// event loops, so that together they do what one would: every request of an
// open loop's schedule falls to exactly one of them, and the connections add up
// to the same number. Without Connections, each gets one for each endpoint.
// Without Threads, each gets threads of them, or fewer if its connections need
// no more.
//
// It fails where that cannot be done; all that is wrong is in the error.
func (o *Options) Split(n, threads int) ([]Options, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	endpoints, err := o.endpoints()
	if err != nil {
		return nil, err
	}
	all := *o
	if all.Connections == 0 {
		all.Connections = n * endpoints
	}
	if err := all.divisible(n, endpoints); err != nil {
		return nil, err
	}
	// An engine takes fewer threads where these lack connections. The parts
	// would overlap if only some did.
	if most := all.Connections / n / endpoints; all.Threads == 0 {
		all.Threads = max(1, min(threads, most))
	} else if all.Threads > most {
		return nil, fmt.Errorf("threads: each of %d attackers needs %d connections, one for each of %d threads and %d endpoints; %d connections are %d for each",
			n, all.Threads*endpoints, all.Threads, endpoints, all.Connections, all.Connections/n)
	}
	parts := make([]Options, n)
	for i := range parts {
		p := all
		p.Part, p.Parts = i, n
		p.Connections = dealt(all.Connections, n, i)
		if all.Rate == nil {
			// A closed loop shares no schedule.
			p.Requests = uint64(dealt(int(all.Requests), n, i))
		}
		parts[i] = p
	}
	return parts, nil
}

// dealt is what the i-th of n gets when total is dealt out.
func dealt(total, n, i int) int {
	share := total / n
	if i < total%n {
		share++
	}
	return share
}

func (o *Options) divisible(n, endpoints int) error {
	var problems []error
	wrong := func(format string, arguments ...any) { problems = append(problems, fmt.Errorf(format, arguments...)) }
	if n < 1 {
		return fmt.Errorf("attackers: %d are none", n)
	}
	if o.Parts > 1 {
		wrong("parts: the options are already those of one of %d attackers", o.Parts)
	}
	if o.Connections < n*endpoints {
		wrong("connections: %d are too few for %d attackers and %d endpoints (addresses, TLS server names, paths of WebSockets): want at least %d",
			o.Connections, n, endpoints, n*endpoints)
	}
	if o.Rate == nil && o.Requests > 0 && o.Requests < uint64(n) {
		wrong("requests: %d are too few for %d attackers", o.Requests, n)
	}
	return errors.Join(problems...)
}

// endpoints is how many places the targets' connections go to.
func (o *Options) endpoints() (int, error) {
	var problems []error
	places := map[endpointKey]bool{}
	for i := range o.Targets {
		_, where, err := o.Targets[i].requests(o.Protocol)
		problems = append(problems, err)
		for j := range where {
			places[where[j].key()] = true
		}
	}
	return len(places), errors.Join(problems...)
}
