package root

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
)

// command runs one command line, with text as its standard input.
func command(t *testing.T, text, line string) (code failure.Code, out, errors string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(text), Out: &stdout, Err: &stderr}
	code = Run(t.Context(), streams, strings.Fields(line))
	return code, stdout.String(), stderr.String()
}

const good = `apiVersion: gatemark.dev/v1
kind: Plan
implementations: [{name: envoy-gateway}]
scenarios: [{name: attached-routes}]
`

// TestBadRequests: whatever is wrong with a request is said at once, all of
// it, with exit code 2, and nothing is done.
func TestBadRequests(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("used", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"used/run.json": "{}", "kubeconfig": "apiVersion: v1\nkind: Config\ncontexts: []\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, line, plan string
		want             []string
	}{
		{"an unknown command", "rum", "", []string{`unknown command "rum"`, "did you mean: gatemark run"}},
		{"an unknown flag", "run --plam x", "", []string{"unknown flag: --plam", "gatemark run --help"}},
		{"an argument too many", "run now", "", []string{`gatemark run takes no arguments, got ["now"]`}},
		{"a bad output format", "run -o yaml", "", []string{`output format "yaml" is not text or json`}},
		{"an unknown profile", "run --profile big", "", []string{`no profile "big"`, "profiles: seed, smoke, standard"}},
		{"a plan that is not there", "run --plan none.yaml", "", []string{"read plan: open none.yaml: no such file"}},
		{"a plan and a profile", "run --plan - --profile smoke", good, []string{"--plan and --profile exclude each other"}},
		{"repeats and a budget", "run --repeats 3 --budget 1h", "", []string{"--repeats and --budget exclude each other"}},
		{"an empty plan", "run --plan -", " ", []string{"the plan is empty"}},
		{"a plan with an unknown field", "run --plan -", good + "repeat: 2\n", []string{`plan -: unknown field "repeat"`}},
		{"a plan of another kind", "run --plan -", strings.Replace(good, "kind: Plan", "kind: Pod", 1), []string{`kind: "Pod" is not Plan`}},
		{"an unknown implementation", "run --implementation envoy", "", []string{`no implementation is called "envoy"`, "did you mean envoy-gateway?"}},
		{"an unknown variant", "run --implementation envoy-gateway/fast", "", []string{`no variant of envoy-gateway is called "fast"; there are gateway-namespace`}},
		{"two versions where there is room for one", "run --implementation contour,contour@v1.33.7", "", []string{"a cluster has room for one contour"}},
		{"an unknown scenario", "run --scenario route-propagations", "", []string{`no scenario is called "route-propagations"; did you mean route-propagation?`}},
		{"no repeats", "run --repeats -1", "", []string{"repeats: -1 is not between 1 and 100"}},
		{"too many repeats", "run --repeats 1000", "", []string{"repeats: 1000 is not between 1 and 100"}},
		{"an unknown isolation", "run --isolation none", "", []string{`isolation: "none" is not one of parked, coresident, joined`}},
		{"a shapeless --set", "run --set routes=3", "", []string{`--set "routes=3" does not have the form SCENARIO.PARAMETER=VALUE`}},
		{"a --set of a scenario that is not in the plan", "run --set traffic.rate=3", "", []string{`--set "traffic.rate=3": the plan has no scenario "traffic"`}},
		{"a --set of an unknown parameter", "run --set route-propagation.routess=3", "", []string{`no parameter of route-propagation is called "routess"; did you mean routes?`}},
		{"a value of the wrong type", "run --set route-propagation.routes=many", "", []string{`parameters.routes: "many" is not a whole number`}},
		{"a value out of bounds", "run --set attached-routes.listeners=17", "", []string{"parameters.listeners: 17 is not between 1 and 16"}},
		{"a duration without a unit", "run --set route-propagation.step=1", "", []string{`parameters.step: "1" is not a duration`}},
		{"a budget that is too short", "run --budget 10s", "", []string{"a budget of 10s is too short", "name fewer scenarios, or set fewer routes"}},
		{"a negative budget", "run --budget -1h", "", []string{"--budget -1h0m0s is negative"}},
		{"a source of images that is none", "run --images mine", "", []string{`"mine" is not one of auto, official, source`}},
		{"a directory that holds a run", "run --output-dir used", "", []string{"holds a run already", "gatemark run --resume"}},
		{"nothing to resume", "run --resume nowhere", "", []string{"--resume: "}},
		{"a kubeconfig without contexts", "run --yes --kubeconfig kubeconfig", "", []string{"kubeconfig kubeconfig has no current context"}},
		{"a context that is not there", "run --yes --kubeconfig kubeconfig --context prod", "", []string{`has no context "prod"`}},
		{"everything at once", "run --scenario attached-routes,nothing --implementation nothing --repeats 200 --isolation x --set attached-routes.routes=0 --set a=b", "", []string{
			"--set", "repeats: 200", `isolation: "x"`, `no implementation is called "nothing"`, `no scenario is called "nothing"`, "parameters.routes: 0 is not between 1 and 40000"}},
		{"a report of nothing", "report nowhere", "", nil},
		{"a mode that is none", "up --mode half", "", []string{`--mode "half" is not full or control-plane`}},
		{"down with a name and all", "down --name a --all", "", []string{"--name and --all exclude each other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errors := command(t, c.plan, c.line)
			if c.want == nil { // not a usage error, but an error
				if code == failure.OK {
					t.Fatalf("it was accepted:\n%s", out)
				}
				return
			}
			if code != failure.Usage {
				t.Errorf("exit code %d, want %d\n%s", code, failure.Usage, errors)
			}
			for _, want := range c.want {
				if !strings.Contains(errors, want) {
					t.Errorf("not said: %s\nbut:\n%s", want, errors)
				}
			}
			if out != "" {
				t.Errorf("printed on standard output: %q", out)
			}
		})
	}
	if _, err := os.Stat("runs"); err == nil {
		t.Error("a request that was refused left a directory runs")
	}
}

const unreachable = `apiVersion: v1
kind: Config
current-context: gone
contexts: [{name: gone, context: {cluster: gone, user: me}}]
clusters: [{name: gone, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: t}}]
`

func TestAClusterThatCannotBeReached(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("kubeconfig", []byte(unreachable), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	code, _, errors := command(t, "", "run --yes --kubeconfig "+filepath.Join(dir, "kubeconfig"))
	if code != failure.CouldNotRun {
		t.Errorf("exit code %d, want %d", code, failure.CouldNotRun)
	}
	for _, want := range []string{"cluster gone at https://127.0.0.1:1", "cannot reach the cluster at https://127.0.0.1:1", "connection refused", "hint:"} {
		if !strings.Contains(errors, want) {
			t.Errorf("not said: %s\nbut:\n%s", want, errors)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("that took %s", took)
	}
	code, _, errors = command(t, "", "run --kubeconfig kubeconfig")
	if code != failure.Usage || !strings.Contains(errors, "nothing was written: not confirmed") {
		t.Errorf("without --yes and a terminal: exit code %d\n%s", code, errors)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, errors := command(t, "", "run --dry-run --seed 1 --repeats 2 --scenario route-propagation --set route-propagation.routes=7")
	if code != failure.OK {
		t.Fatalf("exit code %d\n%s", code, errors)
	}
	for _, want := range []string{"routes: 7", "b01-route-propagation-envoy-gateway", "b02-route-propagation-envoy-gateway", "16 create HTTPRoute", "About "} {
		if !strings.Contains(out, want) {
			t.Errorf("not printed: %s\nbut:\n%s", want, out)
		}
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("left %v, %v", files, err)
	}
}

func TestInterruptionHasItsOwnExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("kubeconfig", []byte(unreachable), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextCancelledSoon(t)
	defer cancel()
	var out, errors bytes.Buffer
	code := Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errors}, []string{"run", "--yes", "--kubeconfig", "kubeconfig"})
	if code != failure.Interrupted || !strings.Contains(errors.String(), "interrupted") {
		t.Errorf("exit code %d\n%s", code, &errors)
	}
}

func contextCancelledSoon(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	return ctx, cancel
}
