package traffic

import (
	"context"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario/attack"
)

// seen is what one turn has shown.
type seen struct {
	turn
	*attack.Seen
}

// measure makes one attack.
func (t *traffic) measure(ctx context.Context, w turn) (*seen, error) {
	one, err := t.Measure(ctx, t.options(w))
	if err != nil {
		return nil, err
	}
	return &seen{w, one}, nil
}

// options are those of a turn's attack.
func (t *traffic) options(w turn) load.Options {
	length := t.Values.Duration("warmup") + t.Values.Duration("duration")
	o := load.Options{
		Connections: w.point.connections, Duration: length, Warmup: t.Values.Duration("warmup"),
		Timeout: t.Values.Duration("timeout"), Whole: true,
	}
	if w.point.rate > 0 {
		o.Rate = load.Steady(float64(w.point.rate), length)
	}
	places := []string{t.Gateway}
	if w.direct {
		// Each attacker needs a connection for each place.
		places = t.Backends[:min(len(t.Backends), w.point.connections/t.Values.Int("attackers"))]
	}
	for _, place := range places {
		o.Targets = append(o.Targets, t.Wire.Target(host, place, w.point.payload))
	}
	t.Wire.Speak(&o)
	return o
}
