package attack

import (
	"encoding/json"
	"fmt"
)

// floor is this program itself: the system calls of a closed loop and nothing
// else, one tool for each way into the kernel. It cannot keep a rate.
func floor(engine string) Tool {
	return Tool{
		Name: "floor " + engine, Program: "loadbench", Loop: Closed,
		Speaks: func(j Job) error {
			if j.TLS() || j.Rate > 0 {
				return fmt.Errorf("it does nothing but HTTP/1.1 as fast as it goes")
			}
			return only(HTTP1)(j)
		},
		Args: func(j Job) ([]string, error) {
			return []string{"floor", "--engine", engine, "--connections", fmt.Sprint(j.Connections), "--duration", j.Duration.String(), j.Address()}, nil
		},
		Parse: func(_ Job, o Output) (Report, error) {
			var s struct{ Requests *int64 }
			if err := json.Unmarshal(o.Stdout, &s); err != nil {
				return Report{}, fmt.Errorf("%w: %w", unread("floor", "JSON", o), err)
			}
			if s.Requests == nil {
				return Report{}, unread("floor", "requests", o)
			}
			return Report{Requests: *s.Requests, Late: -1, Unsent: -1}, nil
		},
	}
}
