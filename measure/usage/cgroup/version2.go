package cgroup

func (g *Group) read2(c *Counters) error {
	c.Throttled = g.throttled
	var inactive int64 = Unknown
	err := g.collect(
		wanted{&c.Usage, g.memoryDir, "memory.current", number},
		wanted{&c.Peak, g.memoryDir, "memory.peak", number}, // since Linux 5.19
		wanted{&inactive, g.memoryDir, "memory.stat", func(text []byte) (n int64, err error) {
			if c.Anon, err = field(text, "anon"); err != nil {
				return 0, err
			}
			return field(text, "inactive_file")
		}},
		wanted{&c.StallCPU, g.cpuDir, "cpu.pressure", Stall},
		wanted{&c.StallMemory, g.cpuDir, "memory.pressure", Stall},
		wanted{&c.StallIO, g.cpuDir, "io.pressure", Stall},
	)
	c.setWorkingSet(inactive)
	return err
}
