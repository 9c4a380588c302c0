package probe

import "time"

// A record holds samples in blocks, so that it grows without copying: a copy
// of some megabytes would make a probe late.
type record struct {
	blocks [][]Sample
}

const recordBlock = 2048

func (r *record) add(s Sample) {
	last := len(r.blocks) - 1
	if last < 0 || len(r.blocks[last]) == recordBlock {
		r.blocks = append(r.blocks, make([]Sample, 0, recordBlock))
		last++
	}
	r.blocks[last] = append(r.blocks[last], s)
}

// since returns the samples with their instants counted from t0.
func (r *record) since(t0 time.Duration) []Sample {
	n := 0
	for _, block := range r.blocks {
		n += len(block)
	}
	all := make([]Sample, 0, n)
	for _, block := range r.blocks {
		for _, s := range block {
			s.Due, s.Began, s.Sent, s.Received = s.Due-t0, s.Began-t0, s.Sent-t0, s.Received-t0
			all = append(all, s)
		}
	}
	return all
}
