package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
)

// where says what a run ran on, and how it was set up.
type where struct {
	Facts           []fact
	Placement       []string
	Nodes           grid
	Projects        grid
	Implementations []installed
	Plan            string
	Schedule        grid
}

// installed is an implementation as it was under test.
type installed struct {
	Treatment  treatment
	Facts      []fact
	Images     grid
	Deviations grid
	Quirks     []string
}

// header is what a reader needs to know before the first number.
func (v *view) header() []fact {
	env := v.Run.Environment
	facts := []fact{{"Started", instant(v.Run.Started)}}
	if v.Run.Ended != nil {
		facts = append(facts, fact{"Took", quantity.Duration(v.Run.Ended.Sub(v.Run.Started).Seconds())})
	} else {
		facts = append(facts, fact{"Took", "not ended"})
	}
	facts = append(facts,
		fact{"Kubernetes", env.Cluster.Version + ", " + cluster(env.Cluster)},
		fact{"Machine", machines(env.Cluster.Nodes)},
		fact{"Gateway API", strings.TrimSpace(env.GatewayAPI.Version + " " + env.GatewayAPI.Channel)},
		fact{"gatemark", software(env.Gatemark)},
	)
	if len(v.Run.Command) > 0 {
		facts = append(facts, fact{"Command", shellWords(v.Run.Command)})
	}
	return facts
}

func (v *view) where() where {
	env := v.Run.Environment
	w := where{
		Facts: []fact{
			{"Run", v.Run.ID},
			{"Schema", v.Run.SchemaVersion},
			{"Cluster", cluster(env.Cluster)},
			{"Kubernetes", env.Cluster.Version},
			{"Gateway API", env.GatewayAPI.Version + ", " + env.GatewayAPI.Channel + " channel"},
			{"Isolation", env.Isolation},
			{"Seed of the order", strconv.FormatUint(v.Run.Seed, 10)},
			{"Runner", imageText(env.Runner)},
		},
		Placement: env.Placement,
		Plan:      indented(v.Run.Plan),
		Nodes: grid{
			Title:   "Nodes",
			Columns: slices.Concat(text("Node"), numbers("CPUs", "Memory"), text("CPU", "Arch", "Kernel", "OS", "Runtime", "Kubelet", "cgroup")),
		},
		Schedule: v.schedule(),
	}
	for _, n := range env.Cluster.Nodes {
		w.Nodes.Rows = append(w.Nodes.Rows, []string{
			n.Name, strconv.FormatInt(n.CPUs, 10), quantity.Write(float64(n.MemoryBytes), "B"), n.CPUModel, n.Architecture,
			n.Kernel, n.OS, n.ContainerRuntime, n.Kubelet, cgroup(n.CgroupVersion),
		})
	}
	w.Nodes = w.Nodes.compact()
	for _, t := range v.Treatments {
		if t.Implementation != nil {
			w.Implementations = append(w.Implementations, newInstalled(t))
		}
	}
	w.Projects = projects(w.Implementations)
	return w
}

// projects sets the facts about the projects side by side, where there are
// several.
func projects(all []installed) grid {
	g := grid{Title: "Projects", Columns: text("")}
	seen := map[string]bool{}
	row := map[string]int{}
	for _, i := range all {
		if seen[i.Treatment.Implementation.Name] {
			continue // another variant, or a copy
		}
		seen[i.Treatment.Implementation.Name] = true
		g.Columns = append(g.Columns, text(cmp.Or(i.Treatment.Implementation.Title, i.Treatment.Name))...)
		facts := slices.Clone(i.Treatment.Implementation.Project)
		if v := i.Treatment.Implementation.Version; v != "" {
			facts = append(facts, result.ProjectRow{Name: "tested version", Value: v})
		}
		for _, fact := range facts {
			at, known := row[fact.Name]
			if !known {
				at = len(g.Rows)
				row[fact.Name] = at
				g.Rows = append(g.Rows, []string{fact.Name})
			}
			for len(g.Rows[at]) < len(g.Columns)-1 {
				g.Rows[at] = append(g.Rows[at], "")
			}
			g.Rows[at] = append(g.Rows[at], fact.Value)
		}
	}
	if len(seen) < 2 {
		return grid{}
	}
	for i := range g.Rows {
		for len(g.Rows[i]) < len(g.Columns) {
			g.Rows[i] = append(g.Rows[i], "")
		}
	}
	return g
}

func newInstalled(t treatment) installed {
	i := t.Implementation
	came := "found in the cluster, not installed by this run"
	if i.Installed {
		came = "installed by this run"
	}
	d := installed{Treatment: t, Quirks: i.Quirks}
	for _, f := range []fact{
		{"Treatment", t.Name},
		{"Implementation", i.Name},
		{"Version", i.Version},
		{"Variant", i.Variant},
		{"Installed", came},
		{"Chart", i.Chart},
		{"GatewayClass", i.GatewayClass},
		{"Controller", i.ControllerName},
		{"Data plane", i.DataPlaneProxy},
	} {
		if f.Value != "" {
			d.Facts = append(d.Facts, f)
		}
	}
	for _, p := range i.Project {
		d.Facts = append(d.Facts, fact{p.Name, p.Value})
	}
	d.Images = grid{Title: "Images", Columns: text("Role", "Image", "Origin", "Built from", "Digest")}
	for _, image := range i.Images {
		d.Images.Rows = append(d.Images.Rows, []string{image.Role, image.Ref, image.Origin, image.From, image.Digest})
	}
	d.Images = d.Images.compact()
	d.Deviations = grid{Title: "Deviations from upstream's defaults", Columns: text("What", "Why")}
	for _, deviation := range i.Deviations {
		d.Deviations.Rows = append(d.Deviations.Rows, []string{deviation.What, deviation.Why})
	}
	return d
}

// schedule lists the planned trials in their order, with what became of them.
func (v *view) schedule() grid {
	g := grid{Title: "Schedule", Columns: slices.Concat(numbers("#"), text("Trial", "Implementation", "Scenario"), numbers("Block"), text("Outcome"))}
	for i, ref := range v.Run.Schedule {
		var got []string
		for _, t := range v.Trials {
			if t.Implementation == ref.Implementation && t.Scenario == ref.Scenario && t.Variant == ref.Variant && t.Block == ref.Block {
				got = append(got, string(t.Outcome))
			}
		}
		g.Rows = append(g.Rows, []string{
			strconv.Itoa(i + 1), ref.ID, ref.Implementation, scenarioName(ref.Scenario, ref.Variant),
			strconv.Itoa(ref.Block), cmp.Or(strings.Join(got, ", then "), "no result"),
		})
	}
	return g
}

func cluster(c result.Cluster) string {
	switch c.Kind {
	case "local":
		return "local cluster " + c.Name
	case "context":
		return "cluster of context " + c.Name
	}
	return strings.TrimSpace(c.Kind + " " + c.Name)
}

func machines(nodes []result.Node) string {
	var cpus, memory int64
	for _, n := range nodes {
		cpus += n.CPUs
		memory += n.MemoryBytes
	}
	if len(nodes) == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%s, %s, %s", quantity.Plural(len(nodes), "node", "nodes"),
		quantity.Plural(int(cpus), "CPU", "CPUs"), quantity.Write(float64(memory), "B"))
}

func cgroup(version int) string {
	if version == 0 {
		return "unknown"
	}
	return "v" + strconv.Itoa(version)
}

func software(s result.Software) string {
	var parts []string
	for _, p := range []string{s.Version, s.Commit, s.Go} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

func imageText(i result.Image) string {
	var parts []string
	for _, p := range []string{i.Role, i.Ref, i.Origin, i.From, i.Digest} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

func instant(t time.Time) string {
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// shellWords writes a command so that it can be pasted into a shell.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		plain := w != "" && !strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@+%", r)
		})
		quoted[i] = w
		if !plain {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
