// Package bench measures: which tool costs how much CPU time for a request, how
// well it keeps a schedule, and whether what it tells is true.
//
// Tools run one after the other against one server, in rounds whose order is
// drawn anew, so that a drift of the machine meets all of them alike; ratios
// are those within a round.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// The tables.
const (
	TableCost      = "cost"
	TableProtocols = "protocols"
	TableOpenLoop  = "open-loop"
	TableTruth     = "truth"
)

// Tables returns their names in order.
func Tables() []string { return []string{TableCost, TableProtocols, TableOpenLoop, TableTruth} }

// Options say what to measure.
type Options struct {
	Finder
	Tables []string
	Tools  []attack.Tool
	// Full is the long form; the quick one takes less than three minutes.
	Full bool
	// Rounds, Duration and Connections are those of the tables of cost; zero
	// values stand for the form's own.
	Rounds      int
	Duration    time.Duration
	Connections []int
	Seed        uint64
	Progress    *progress.Printer
}

type bench struct {
	Options
	out     *Results
	network *stage.Network
	// folder is for everything that is written, and removed in the end.
	folder string
	random *rand.Rand
}

// Measure makes the network and the servers, measures, and leaves nothing
// behind. What was measured before an error is returned with it.
func Measure(ctx context.Context, o Options) (_ *Results, err error) {
	o.setDefaults()
	b := &bench{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0)), out: &Results{
		Schema: Schema, Started: time.Now(), Machine: machine(), Versions: map[string]string{},
		Settings: Settings{Full: o.Full, Rounds: o.Rounds, Duration: o.Duration.Seconds(), Seed: o.Seed},
	}}
	if err := b.findTools(ctx); err != nil {
		return nil, err
	}
	if err := raiseFileLimit(); err != nil {
		return nil, err
	}
	if b.folder, err = os.MkdirTemp("", "gatemark-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	if b.network, err = stage.Open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.network.Close()) }()
	if b.network.Without != "" {
		b.skip("%s", b.network.Without)
	}
	for _, table := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{TableCost, b.cost}, {TableProtocols, b.protocols}, {TableOpenLoop, b.openLoop}, {TableTruth, b.truth},
	} {
		if slices.Contains(o.Tables, table.name) {
			if err := table.measure(ctx); err != nil {
				return b.out, fmt.Errorf("%s: %w", table.name, err)
			}
		}
	}
	return b.out, nil
}

func (o *Options) setDefaults() {
	form := struct {
		rounds      int
		duration    time.Duration
		connections []int
	}{2, time.Second, []int{64}}
	if o.Full {
		// Six rounds are what bounds of a median need.
		form.rounds, form.duration, form.connections = 6, 3*time.Second, []int{16, 64, 256, 1024}
	}
	if o.Rounds == 0 {
		o.Rounds = form.rounds
	}
	if o.Duration == 0 {
		o.Duration = form.duration
	}
	if len(o.Connections) == 0 {
		o.Connections = form.connections
	}
}

// findTools drops the tools that cannot be had, and says so.
func (b *bench) findTools(ctx context.Context) error {
	var found []attack.Tool
	for _, t := range b.Tools {
		version, err := b.check(ctx, t)
		if err != nil {
			b.skip("no %s: %v", t.Name, err)
			continue
		}
		if version != "" {
			b.out.Versions[t.Program] = version
		}
		found = append(found, t)
	}
	if len(found) == 0 {
		return failure.Hint(errors.New("there is no load generator to compare"), "make bench-load gets them")
	}
	b.Tools = found
	return nil
}

func (b *bench) skip(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	b.out.Skipped = append(b.out.Skipped, line)
	b.Progress.Printf("- skipped: %s", line)
}

// scratch makes a new folder within the run's.
func (b *bench) scratch(name string) (string, error) {
	return os.MkdirTemp(b.folder, name+"-")
}

func (b *bench) nginx(ctx context.Context) (*stage.Server, error) {
	path, err := b.Find("nginx")
	if err != nil {
		return nil, failure.Hint(err, "make bench-load gets it")
	}
	folder, err := b.scratch("nginx")
	if err != nil {
		return nil, err
	}
	s, err := stage.StartNginx(ctx, b.network.Server, path, folder, b.Environment(path))
	if err != nil {
		return nil, err
	}
	b.out.TLS, err = s.Negotiated()
	return s, err
}

// raiseFileLimit lets children have as many descriptors as this process may.
func raiseFileLimit() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("raise the limit of open files to %d: %w", l.Max, err)
	}
	return nil
}

func machine() Machine {
	m := Machine{Cores: runtime.NumCPU()}
	// What cannot be read stays empty.
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(info) {
			if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	return m
}

// shuffled returns the tools in a new random order.
func (b *bench) shuffled(tools []attack.Tool) []attack.Tool {
	tools = slices.Clone(tools)
	b.random.Shuffle(len(tools), func(i, k int) { tools[i], tools[k] = tools[k], tools[i] })
	return tools
}

// folderOf is where a tool's run may write.
func (b *bench) folderOf(t attack.Tool) (string, error) {
	folder := filepath.Join(b.folder, strings.ReplaceAll(t.Name, " ", "-"))
	return folder, os.MkdirAll(folder, 0o755)
}
