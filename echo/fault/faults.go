package fault

// Faults is everything that a server does wrong. The zero value is a server
// without faults, which obeys header fields.
type Faults struct {
	// IgnoreHeaders makes the server ignore requests that ask for a delay or a
	// status of their own by a header field.
	IgnoreHeaders bool `json:"ignoreHeaders,omitempty"`
	// Health is how the health endpoint on the port for requests behaves.
	Health Health `json:"health,omitzero"`
	// Rules are asked in their order. All delays and stalls that apply add up;
	// of the other kinds the first that applies decides, and no further rule
	// of these kinds is asked.
	Rules []Rule `json:"rules,omitempty"`
}

// Health is the behaviour of the health endpoint.
type Health struct {
	// Path is where it is. Default "/health"; "none" for no endpoint.
	Path string `json:"path,omitempty"`
	// Status is its answer where no rule decides. Default 200.
	Status int `json:"status,omitempty"`
	// IgnoreFaults keeps the rules away from health checks. Otherwise they
	// apply as to any request, but count by themselves: of "every 10" the
	// tenth health check fails, and the tenth other request.
	IgnoreFaults bool `json:"ignoreFaults,omitempty"`
	// Delay is its own, beside that of rules.
	Delay *Delay `json:"delay,omitempty"`
}

// A Rule is one fault, of exactly one kind.
type Rule struct {
	// Name is for people who read counters. Default is the kind.
	Name  string `json:"name,omitempty"`
	Match Match  `json:"match,omitzero"`
	// Cycle is when the rule is in force. Default is always.
	Cycle *Cycle `json:"cycle,omitempty"`
	// Every applies the rule to exactly each n-th request that it matches.
	Every int64 `json:"every,omitempty"`
	// Ratio applies the rule to requests at random, with this probability.
	Ratio float64 `json:"ratio,omitempty"`

	Delay   *Delay   `json:"delay,omitempty"`
	Stall   *Stall   `json:"stall,omitempty"`
	Status  *Status  `json:"status,omitempty"`
	Reset   *Reset   `json:"reset,omitempty"`
	Close   *Close   `json:"close,omitempty"`
	Hang    *Hang    `json:"hang,omitempty"`
	Trickle *Trickle `json:"trickle,omitempty"`
	Garbage *Garbage `json:"garbage,omitempty"`
	Refuse  *Refuse  `json:"refuse,omitempty"`
}

// Match limits a rule to some requests. Fields that are empty match all.
type Match struct {
	// Path is a prefix of the path, compared byte by byte.
	Path string `json:"path,omitempty"`
	// Host is compared without port and case.
	Host string `json:"host,omitempty"`
	// Route is the route's marker.
	Route string `json:"route,omitempty"`
}

// A Cycle puts a rule in force for On, then out of force for Off, and so on.
type Cycle struct {
	// Start is when the first cycle begins, in RFC 3339, so that several
	// servers can agree. Default is when the faults are set.
	Start string `json:"start,omitempty"`
	// After delays the first cycle.
	After Duration `json:"after,omitempty"`
	On    Duration `json:"on"`
	// Off is needed for more than one cycle.
	Off Duration `json:"off,omitempty"`
	// Count ends the cycles. Default is without end, or 1 where Off is 0.
	Count int64 `json:"count,omitempty"`
}

// Stall answers nothing while the rule is in force; then it answers.
type Stall struct{}

// Status answers with a status.
type Status struct {
	// Code is 200 to 599.
	Code int `json:"code"`
	// RetryAfter is the value of the header field, in whole seconds.
	RetryAfter Duration `json:"retryAfter,omitempty"`
	// GRPC is the answer to gRPC calls, 1 to 16. Default 14, unavailable.
	GRPC int `json:"grpc,omitempty"`
}

// Reset ends the connection with a TCP reset. On HTTP/2 it resets the stream.
type Reset struct {
	// At is "start", before anything was answered (default), or "middle": after
	// the head and half of the body.
	At string `json:"at,omitempty"`
}

// Close ends the connection in order, without an answer. On HTTP/2 all streams
// of the connection end with it.
type Close struct{}

// Hang reads the request and never answers, until the client gives up.
type Hang struct{}

// Trickle writes the response's body slowly.
type Trickle struct {
	Bytes    int      `json:"bytes"`
	Interval Duration `json:"interval"`
}

// Garbage answers with something that is no response, and ends the connection.
// On HTTP/2 it is a body shorter than its content-length.
type Garbage struct{}

// Refuse closes the ports while the rule is in force, so that connections are
// refused. It concerns no single request: Match, Every and Ratio do not apply.
type Refuse struct {
	// Open is what happens to open connections: "keep" (default) or "reset".
	Open string `json:"open,omitempty"`
}
