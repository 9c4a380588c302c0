package echo

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/echo/fault"
)

// An inquiry is a request, as far as faults are concerned.
type inquiry struct {
	fault.Query
	// delay and status are what the request itself asks for, empty for
	// nothing.
	delay, status []byte
	// read is when its last byte was.
	read time.Time
}

var (
	errDelay  = errors.New("delay is not a duration in range")
	errStatus = errors.New("status is not a number from 200 to 599")
	errGone   = errors.New("the client has gone, or the server ends")
)

// judge decides what becomes of a request, and returns when it is time to
// answer. The verdict is the set's, but for what the request asks for: that
// stands in for rules of the same kind.
func (s *Server) judge(q *inquiry, gone <-chan struct{}) (fault.Verdict, error) {
	set := s.faults.Load()
	var asked fault.Verdict
	if !set.Faults().IgnoreHeaders && !q.Health {
		var err error
		if asked, err = q.asked(); err != nil {
			return fault.Verdict{}, err
		}
	}
	if asked.Waits {
		q.Kinds &^= 1 << fault.DelayKind
		s.totals.Add(fault.DelayKind)
	}
	if asked.Kind != fault.None && q.Kinds.Has(fault.StatusKind) {
		q.Kinds &^= fault.Answers
		s.totals.Add(fault.StatusKind)
	}
	v := set.Decide(&q.Query, q.read)
	if asked.Waits {
		v.Delay, v.Waits = asked.Delay, true
	}
	if asked.Kind != fault.None {
		v.Kind, v.Code, v.GRPC = asked.Kind, asked.Code, asked.GRPC
	}
	return v, s.await(&v, q.read, set.Replaced(), gone)
}

// asked is what the request's own header fields ask for.
func (q *inquiry) asked() (v fault.Verdict, err error) {
	if len(q.delay) > 0 {
		v.Delay, err = time.ParseDuration(string(q.delay))
		if err != nil || v.Delay < 0 || v.Delay > fault.Longest {
			return v, errDelay
		}
		v.Waits = true
	}
	if len(q.status) > 0 {
		v.Code, err = strconv.Atoi(string(q.status))
		if err != nil || v.Code < 200 || v.Code > 599 {
			return v, errStatus
		}
		v.Kind, v.GRPC = fault.StatusKind, grpcStatus(v.Code)
	}
	return v, nil
}

// grpcStatus is what gRPC's specification makes of an HTTP status.
func grpcStatus(code int) int {
	switch code {
	case http.StatusOK:
		return 0
	case http.StatusBadRequest:
		return grpcInternal
	case http.StatusUnauthorized:
		return 16
	case http.StatusForbidden:
		return 7
	case http.StatusNotFound:
		return 12
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 14
	}
	return 2
}

// await waits out a stall, then a delay. The delay runs from the last byte
// read, so that what this server itself has taken is part of it; but not from
// before the end of a stall.
func (s *Server) await(v *fault.Verdict, read time.Time, replaced, gone <-chan struct{}) error {
	from := read
	if !v.Stall.IsZero() {
		s.clock.Wait(v.Stall, replaced)
		from = time.Now()
	}
	if v.Waits && v.Delay > 0 && !s.clock.Wait(from.Add(v.Delay), gone) {
		return errGone
	}
	select {
	case <-s.stopped:
		return errGone
	default:
		return nil
	}
}

// waited returns what a request has waited, and records it; 0 for one that had
// nothing to wait for.
func (s *Server) waited(v *fault.Verdict, read time.Time) time.Duration {
	if !v.Waits && v.Stall.IsZero() {
		return 0
	}
	waited := max(time.Since(read), 1)
	s.applied.record(waited)
	return waited
}

// SetFaults puts faults in force for every request that is read from now on.
// The error joins everything that is wrong with them.
func (s *Server) SetFaults(f fault.Faults) error {
	set, err := fault.Compile(f, &s.totals)
	if err != nil {
		return err
	}
	s.setting.Lock()
	if s.closing.Load() {
		s.setting.Unlock()
		return errGone
	}
	s.faults.Swap(set).Replace()
	s.setting.Unlock()
	s.setPorts(set)
	return nil
}

// Faults returns what is in force, with defaults filled in.
func (s *Server) Faults() fault.Faults { return s.faults.Load().Faults() }
