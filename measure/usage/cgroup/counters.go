package cgroup

// Unknown stands for what a kernel does not tell.
const Unknown = -1

// Counters are a reading of one cgroup, with all below it. Times are in
// nanoseconds since the cgroup was made, sizes in bytes. A value that the
// kernel does not tell is Unknown.
type Counters struct {
	// CPU is the time used.
	CPU int64 `json:"cpu"`
	// Throttled is for how long a CPU limit of this very cgroup, not of those
	// below it, kept it from running. Version 1 counts it for all CPUs together,
	// and so does version 2.
	Throttled int64 `json:"throttled"`
	// Usage is all memory that is charged, page cache included. WorkingSet is
	// Usage without inactive page cache, as the kubelet defines it; Anon is memory
	// that no file stands behind, which version 1 calls RSS.
	Usage      int64 `json:"usage"`
	WorkingSet int64 `json:"workingSet"`
	Anon       int64 `json:"anon"`
	// Peak is the most that Usage ever was, by the kernel's own count.
	Peak int64 `json:"peak"`
	// StallCPU, StallMemory and StallIO are for how long at least one task waited
	// for each: the kernel's pressure stall information. Version 1 has none.
	StallCPU    int64 `json:"stallCPU"`
	StallMemory int64 `json:"stallMemory"`
	StallIO     int64 `json:"stallIO"`
}

// nothing is a reading in which nothing is known but CPU.
func nothing(cpu int64) Counters {
	return Counters{
		CPU: cpu, Throttled: Unknown, Usage: Unknown, WorkingSet: Unknown, Anon: Unknown, Peak: Unknown,
		StallCPU: Unknown, StallMemory: Unknown, StallIO: Unknown,
	}
}
