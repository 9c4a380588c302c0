package fault

import "time"

// always is the phase of a rule without a cycle.
var always = phases{}

// phases are a compiled Cycle.
type phases struct {
	start   time.Time
	on, off time.Duration // on is 0 for always
	count   int64         // 0 for without end
}

func (c *Cycle) phases(field string, since time.Time, p *problems) phases {
	if c == nil {
		return always
	}
	out := phases{start: since, on: p.duration(field+".on", c.On), off: p.duration(field+".off", c.Off), count: c.Count}
	if c.Start != "" {
		start, err := time.Parse(time.RFC3339Nano, c.Start)
		if err != nil {
			p.add(field+".start", "%q is not a time like 2026-01-31T12:00:00Z", c.Start)
		}
		out.start = start
	}
	out.start = out.start.Add(p.duration(field+".after", c.After))
	if c.On == "" || out.on == 0 && c.On != "" {
		p.add(field+".on", "must be more than 0")
	}
	switch {
	case c.Count < 0:
		p.add(field+".count", "%d is negative", c.Count)
	case out.off == 0 && c.Count > 1:
		p.add(field+".off", "must be more than 0 where count is more than 1")
	case out.off == 0:
		out.count = 1
	}
	return out
}

// active reports whether the rule is in force, and when that next changes: the
// zero time for never.
func (p *phases) active(now time.Time) (bool, time.Time) {
	if p.on == 0 {
		return true, time.Time{}
	}
	elapsed := now.Sub(p.start)
	if elapsed < 0 {
		return false, p.start
	}
	period := p.on + p.off
	n := int64(elapsed / period)
	if p.count > 0 && n >= p.count {
		return false, time.Time{}
	}
	begin := p.start.Add(time.Duration(n) * period)
	if now.Sub(begin) < p.on {
		return true, begin.Add(p.on)
	}
	if p.count > 0 && n+1 >= p.count {
		return false, time.Time{}
	}
	return false, begin.Add(period)
}
