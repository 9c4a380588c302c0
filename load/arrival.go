package load

import (
	"math/rand/v2"
	"time"
)

// An Arrival says how requests spread around the rate.
type Arrival string

const (
	// Even arrivals come at equal distances.
	Even Arrival = "even"
	// Uniform arrivals come one in each of these distances, anywhere in it.
	Uniform Arrival = "uniform"
	// Poisson arrivals are independent of each other, as those of many users are.
	Poisson Arrival = "poisson"
)

// Arrivals lists the instants at which requests are due, as one of several
// attackers that share a schedule sees them. It is a pure function of its
// parameters: nothing that happens meanwhile moves an instant.
//
// Instants are those of a process of rate 1, sent through the inverse of the
// integral of the rate: the time change of Çinlar, Introduction to Stochastic
// Processes (1975), section 4.7. So any profile goes with any arrival.
type Arrivals struct {
	profile Profile
	arrival Arrival
	seed    uint64
	part    uint64
	parts   uint64
	random  *rand.Rand

	index uint64  // of the next arrival, within the part
	unit  float64 // of the last Poisson arrival

	stage int           // that the last arrival was in
	begun time.Duration // when it began
	seen  float64       // requests before it
}

// NewArrivals lists part number part of parts, counted from 0.
func NewArrivals(p Profile, a Arrival, seed uint64, part, parts int) *Arrivals {
	return &Arrivals{
		profile: p, arrival: a, seed: seed, part: uint64(part), parts: uint64(parts),
		random: rand.New(rand.NewPCG(seed, uint64(part))),
	}
}

// Next is the next request's number in the whole schedule, and its instant
// since the schedule's start. There is none after the end.
func (a *Arrivals) Next() (number uint64, due time.Duration, ok bool) {
	number = a.index*a.parts + a.part
	a.index++
	unit := float64(number)
	switch a.arrival {
	case Uniform:
		unit += fraction(a.seed, number)
	case Poisson:
		a.unit += a.random.ExpFloat64() * float64(a.parts)
		unit = a.unit
	}
	for a.stage < len(a.profile) {
		s := a.profile[a.stage]
		if n := s.requests(); unit-a.seen >= n {
			a.seen += n
			a.begun += s.Duration
			a.stage++
			continue
		}
		return number, a.begun + s.at(unit-a.seen), true
	}
	return 0, 0, false
}

// fraction is a number from [0, 1) that follows from its arguments: splitmix64.
func fraction(seed, n uint64) float64 {
	x := seed + (n+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
