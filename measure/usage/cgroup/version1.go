package cgroup

func (g *Group) read1(c *Counters) error {
	var inactive int64 = Unknown
	err := g.collect(
		wanted{&c.Throttled, g.throttlingDir, "cpu.stat", func(text []byte) (int64, error) { return field(text, "throttled_time") }},
		wanted{&c.Usage, g.memoryDir, "memory.usage_in_bytes", number},
		wanted{&c.Peak, g.memoryDir, "memory.max_usage_in_bytes", number},
		wanted{&inactive, g.memoryDir, "memory.stat", func(text []byte) (n int64, err error) {
			// The total is with all cgroups below, as usage is.
			if c.Anon, err = field(text, "total_rss"); err != nil {
				return 0, err
			}
			return field(text, "total_inactive_file")
		}},
	)
	c.setWorkingSet(inactive)
	return err
}

func (c *Counters) setWorkingSet(inactive int64) {
	if c.Usage != Unknown && inactive != Unknown {
		c.WorkingSet = max(0, c.Usage-inactive)
	}
}
