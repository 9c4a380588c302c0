package bench

import (
	"math"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
)

// Schema is the version of Results' JSON.
const Schema = 1

// Results is everything that was measured, raw. Tables are made from it.
// Times are in seconds, sizes in bytes, rates in requests per second.
type Results struct {
	Schema   int               `json:"schema"`
	Started  time.Time         `json:"started"`
	Machine  Machine           `json:"machine"`
	Settings Settings          `json:"settings"`
	Versions map[string]string `json:"versions"`
	// TLS is what the server and everybody settle on.
	TLS string `json:"tls"`
	// Skipped says what was left out, and why.
	Skipped []string `json:"skipped,omitempty"`

	Cost []Run `json:"cost,omitempty"`
	// Open has runs against the known server without a delay, with when
	// requests arrived there.
	Open []Known `json:"open,omitempty"`
	// Many has runs with many connections, Memory one that lasts.
	Many   []Run    `json:"many,omitempty"`
	Memory []Memory `json:"memory,omitempty"`
	Truth  []Known  `json:"truth,omitempty"`
	// Precise has gatemark's runs with a record of each request.
	Precise []Precise `json:"precise,omitempty"`
}

// Failures returns a line for each run that failed.
func (r *Results) Failures() []string {
	var all []string
	add := func(table string, run Run) {
		if run.Failed != "" {
			all = append(all, table+": "+run.Tool+": "+run.Failed)
		}
	}
	for _, run := range r.Cost {
		add(run.Service+" over "+run.Path, run)
	}
	for _, k := range r.Open {
		add("open loop", k.Run)
	}
	for _, run := range r.Many {
		add("many connections", run)
	}
	for _, m := range r.Memory {
		add("memory", m.Run)
	}
	for _, k := range r.Truth {
		add("truth: "+k.Case, k.Run)
	}
	for _, p := range r.Precise {
		add("truth of each request", p.Run)
	}
	return all
}

// A Machine is where it was measured.
type Machine struct {
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
}

// Settings is how it was measured.
type Settings struct {
	Full     bool    `json:"full"`
	Rounds   int     `json:"rounds"`
	Duration float64 `json:"duration"`
	Seed     uint64  `json:"seed"`
}

// A Run is one run of one tool.
type Run struct {
	Tool        string  `json:"tool"`
	Service     string  `json:"service"`
	Path        string  `json:"path"`
	Connections int     `json:"connections"`
	Streams     int     `json:"streams"`
	Rate        float64 `json:"rate,omitempty"` // asked for; 0 is a closed loop
	Round       int     `json:"round"`
	Duration    float64 `json:"duration"` // asked for

	// Whole is from the process's start to its end. Steady is a part of it in
	// which the process did nothing but attack: it has neither the start nor
	// the end in it, and is empty where there was no such part.
	Whole  Span `json:"whole"`
	Steady Span `json:"steady"`
	// MostMemory is the most that the process has held, in bytes.
	MostMemory int64         `json:"mostMemory"`
	Report     attack.Report `json:"report"`
	Failed     string        `json:"failed,omitempty"`
}

// A Span is what was used between two instants.
type Span struct {
	Seconds float64 `json:"seconds"`
	// Requests is the server's own count, -1 where it has none.
	Requests int64 `json:"requests"`
	// CPU is the tool's time, Server the server's, Machine that of all cores,
	// AttackerCore that of the attacker's; Stolen is what a hypervisor took
	// from all.
	CPU          float64 `json:"cpu"`
	Server       float64 `json:"server"`
	Machine      float64 `json:"machine"`
	AttackerCore float64 `json:"attackerCore"`
	Stolen       float64 `json:"stolen"`
}

// Disturbed tells that what is neither attacker nor server used more than 5 %
// of the machine.
func (s Span) Disturbed(cores int) bool {
	return s.Machine-s.CPU-s.Server+s.Stolen > 0.05*s.Seconds*float64(cores)
}

// PerCPU is requests per CPU-second of the tool while it attacked, by the
// server's count. NaN where there is none.
func (r Run) PerCPU() float64 { return r.Steady.per(r.Steady.CPU) }

// PerMachine is requests per CPU-second of the whole machine meanwhile.
func (r Run) PerMachine() float64 { return r.Steady.per(r.Steady.Machine) }

func (s Span) per(cpu float64) float64 {
	if cpu <= 0 || s.Requests <= 0 {
		return math.NaN()
	}
	return float64(s.Requests) / cpu
}

// PerWholeCPU is the tool's own count of answers per CPU-second of its whole
// process.
func (r Run) PerWholeCPU() float64 { return float64(r.Report.Requests) / r.Whole.CPU }

// A Known is a run against the server that knows the truth.
type Known struct {
	Run
	Case string      `json:"case"`
	Loop attack.Loop `json:"loop"`
	// True is the truth as seen by the server.
	True Truth `json:"true"`
}

// A Truth is what really happened to a run's requests.
type Truth struct {
	// Requests counts those that the server read; Failed and Reset are among
	// them, and Open, which had no answer when the run ended.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	Reset    int64 `json:"reset"`
	Open     int64 `json:"open"`
	// NotSent is how many were due by the schedule and never arrived.
	NotSent int64 `json:"notSent"`
	// Sent is from the kernel's receipt of a request to the writing of its
	// answer, Due from the instant at which it was due, or from its arrival
	// where that was earlier. By name as in attack.Report.
	Sent map[string]float64 `json:"sent"`
	Due  map[string]float64 `json:"due,omitempty"`
	// Punctual is the share of all due requests that arrived within 1 ms of
	// an even schedule of the asked rate; Late is the p99.9 of how late.
	Punctual float64 `json:"punctual"`
	Late     float64 `json:"late"`
	// Rate is the rate of arrivals.
	Rate float64 `json:"rate"`
}

// A Memory is a long run whose memory was sampled.
type Memory struct {
	Run
	// Samples are VmRSS, one each Every seconds.
	Samples []int64 `json:"samples"`
	Every   float64 `json:"every"`
}
