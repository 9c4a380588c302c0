package fault

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Delay is a distribution of delays: exactly one of its fields.
type Delay struct {
	Fixed       Duration     `json:"fixed,omitempty"`
	Uniform     *Uniform     `json:"uniform,omitempty"`
	Exponential *Exponential `json:"exponential,omitempty"`
	Normal      *Normal      `json:"normal,omitempty"`
	Lognormal   *Lognormal   `json:"lognormal,omitempty"`
	// Modes mixes several: bimodal with two.
	Modes []Mode `json:"modes,omitempty"`
}

// Uniform is between Min and Max.
type Uniform struct {
	Min Duration `json:"min,omitempty"`
	Max Duration `json:"max"`
}

// Exponential has a Mean. Max cuts it off.
type Exponential struct {
	Mean Duration `json:"mean"`
	Max  Duration `json:"max,omitempty"`
}

// Normal has a Mean and a standard Deviation. What would be negative is 0.
type Normal struct {
	Mean      Duration `json:"mean"`
	Deviation Duration `json:"deviation"`
}

// Lognormal has a Median, and Sigma, the standard deviation of its logarithm.
// Max cuts it off.
type Lognormal struct {
	Median Duration `json:"median"`
	Sigma  float64  `json:"sigma"`
	Max    Duration `json:"max,omitempty"`
}

// A Mode is one of several delays, chosen by Weight among the others'.
type Mode struct {
	Weight float64 `json:"weight"`
	Delay  Delay   `json:"delay"`
}

// A sampler draws one delay, in time.Duration. It is safe for concurrent use.
type sampler func() time.Duration

// sampler checks the distribution and returns how to draw from it.
func (d *Delay) sampler(field string, p *problems) sampler {
	var all []sampler
	if d.Fixed != "" {
		fixed := p.duration(field+".fixed", d.Fixed)
		all = append(all, func() time.Duration { return fixed })
	}
	if d.Uniform != nil {
		all = append(all, d.Uniform.sampler(field+".uniform", p))
	}
	if d.Exponential != nil {
		all = append(all, d.Exponential.sampler(field+".exponential", p))
	}
	if d.Normal != nil {
		all = append(all, d.Normal.sampler(field+".normal", p))
	}
	if d.Lognormal != nil {
		all = append(all, d.Lognormal.sampler(field+".lognormal", p))
	}
	if len(d.Modes) > 0 {
		all = append(all, modes(field+".modes", d.Modes, p))
	}
	if len(all) != 1 {
		p.add(field, "has %d distributions, want one of fixed, uniform, exponential, normal, lognormal, modes", len(all))
		return nil
	}
	return all[0]
}

func (u *Uniform) sampler(field string, p *problems) sampler {
	low, high := p.duration(field+".min", u.Min), p.duration(field+".max", u.Max)
	if high < low {
		p.add(field, "max %s is less than min %s", u.Max, u.Min)
	}
	return func() time.Duration { return low + time.Duration(rand.Float64()*float64(high-low)) }
}

func (e *Exponential) sampler(field string, p *problems) sampler {
	mean, longest := p.duration(field+".mean", e.Mean), p.max(field+".max", e.Max)
	if e.Mean == "" {
		p.add(field, "has no mean")
	}
	return func() time.Duration { return bounded(rand.ExpFloat64()*float64(mean), longest) }
}

func (n *Normal) sampler(field string, p *problems) sampler {
	mean, deviation := p.duration(field+".mean", n.Mean), p.duration(field+".deviation", n.Deviation)
	if n.Mean == "" {
		p.add(field, "has no mean")
	}
	return func() time.Duration {
		return bounded(float64(mean)+rand.NormFloat64()*float64(deviation), Longest)
	}
}

func (l *Lognormal) sampler(field string, p *problems) sampler {
	median, longest := p.duration(field+".median", l.Median), p.max(field+".max", l.Max)
	if l.Median == "" {
		p.add(field, "has no median")
	}
	if l.Sigma < 0 {
		p.add(field+".sigma", "%v is negative", l.Sigma)
	}
	sigma := l.Sigma
	return func() time.Duration {
		return bounded(float64(median)*math.Exp(rand.NormFloat64()*sigma), longest)
	}
}

func modes(field string, all []Mode, p *problems) sampler {
	var samplers []sampler
	var upTo []float64 // the sum of weights, up to each
	sum := 0.0
	for i, m := range all {
		if m.Weight <= 0 {
			p.add(at(field, i)+".weight", "%v is not more than 0", m.Weight)
		}
		sum += m.Weight
		upTo = append(upTo, sum)
		samplers = append(samplers, m.Delay.sampler(at(field, i)+".delay", p))
	}
	return func() time.Duration {
		x := rand.Float64() * sum
		for i, limit := range upTo {
			if x < limit {
				return samplers[i]()
			}
		}
		return samplers[len(samplers)-1]()
	}
}

// max is a bound that may be missing.
func (p *problems) max(field string, d Duration) time.Duration {
	if d == "" {
		return Longest
	}
	return p.duration(field, d)
}

func bounded(d float64, longest time.Duration) time.Duration {
	return time.Duration(min(max(d, 0), float64(longest)))
}
