package capacity

import (
	"context"
	"encoding/json"

	"github.com/gatemark/gatemark/echo/events"
)

// arrived is what came to the receivers of one step's events.
type arrived struct {
	// once is how many different ones came to any of them, and more how many
	// came beyond these.
	once, more int64
}

// arrivals asks all receivers which events came to them: those of a step that
// was sent once may have come to two of them.
func (c *capacity) arrivals(ctx context.Context) (map[string]arrived, error) {
	numbers, all := map[string]*events.Numbers{}, map[string]arrived{}
	if c.Values.Int("events") == 0 {
		return all, nil
	}
	err := c.AskBackends(ctx, "/events", func(answer *json.Decoder) error {
		var streams []events.StreamNumbers
		if err := answer.Decode(&streams); err != nil {
			return err
		}
		for _, s := range streams {
			if numbers[s.Source] == nil {
				numbers[s.Source] = new(events.Numbers)
			}
			a := all[s.Source]
			a.more += int64(numbers[s.Source].Union(s.Numbers))
			all[s.Source] = a
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for source, n := range numbers {
		a := all[source]
		a.once = int64(n.Len())
		all[source] = a
	}
	return all, c.addDuplicates(ctx, all)
}

// addDuplicates adds what came to one receiver more than once.
func (c *capacity) addDuplicates(ctx context.Context, all map[string]arrived) error {
	return c.AskBackends(ctx, "/counters", func(answer *json.Decoder) error {
		var counters struct {
			Events events.Counts `json:"events"`
		}
		if err := answer.Decode(&counters); err != nil {
			return err
		}
		for _, s := range counters.Events.Streams {
			a := all[s.Source]
			a.more += s.Duplicates
			all[s.Source] = a
		}
		return nil
	})
}
