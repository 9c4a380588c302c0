package fault

// Ignores tells whether the n-th route, from 1 on, is never served.
func (f Faults) Ignores(n int) bool { return each(int64(n), int64(f.IgnoreEvery)) }

// Fails tells whether requests for the n-th route, from 1 on, are answered with
// errors.
func (f Faults) Fails(n int) bool { return each(int64(n), int64(f.ErrorsAlways)) }

// Frozen tells whether a data plane that is to have so many routes is told
// nothing any more.
func (f Faults) Frozen(routes int) bool { return f.Ceiling > 0 && routes >= f.Ceiling }

// Stale tells whether the n-th status, from 1 on, is about the generation
// before.
func (f Faults) Stale(n int) bool { return each(int64(n), int64(f.StaleGeneration)) }

// TellsEntries: the statuses of routes are to be changed at all.
func (f Faults) TellsEntries() bool {
	return f.DuplicateEntries > 0 || f.ForeignEntries > 0 || f.RemovesOthers || f.StaleGeneration > 0
}
