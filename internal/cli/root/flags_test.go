package root

import (
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/failure"
)

// TestFlagsThatContradict: each problem is said, and all of them at once.
func TestFlagsThatContradict(t *testing.T) {
	t.Chdir(t.TempDir())
	const resume = "cannot be set with --resume: the run goes on as it was begun"
	for line, want := range map[string][]string{
		"run --repeats 0":                                    {"--repeats 0 would measure nothing"},
		"run --budget 0":                                     {"--budget 0 leaves no time to measure"},
		"run --name a --context b":                           {"--name and --context exclude each other"},
		"run --name a --kubeconfig b":                        {"--name and --kubeconfig exclude each other"},
		"run --plan - --profile smoke --images mine":         {"--plan and --profile exclude each other", `"mine" is not one of auto, official, source`, "the plan is empty"},
		"run --plan none.yaml --repeats 0":                   {"--repeats 0", "read plan: open none.yaml"},
		"run --profile big --images mine":                    {`no profile "big"`, `"mine" is not one of`},
		"run --dry-run --images mine":                        {`"mine" is not one of auto, official, source`},
		"run --repeats 3 --budget 1h --scenario x":           {"--repeats and --budget exclude each other", `no scenario is called "x"`},
		"run --repeats many":                                 {`invalid argument "many" for "--repeats"`},
		"run --budget soon":                                  {`invalid argument "soon" for "--budget"`},
		"run --seed -1":                                      {`invalid argument "-1" for "--seed"`},
		"run --resume . --repeats 3 --set a.b=c":             {"--repeats " + resume, "--set " + resume},
		"run --resume . --dry-run":                           {"--dry-run " + resume},
		"run --resume .":                                     {"holds no run that got as far as measuring"},
		"run --set attached-routes.limit=3s":                 {"hold 3s is not shorter than limit 3s"},
		"run --set route-propagation.settle=1m":              {"settle 1m0s is not shorter than limit 1m0s"},
		"run --set route-propagation.connections=old":        {`"old" is not one of both, kept, new`},
		"run --set route-propagation.routes=1.5":             {`"1.5" is not a whole number`},
		"run --set route-propagation.routes=":                {`"" is not a whole number`},
		"run --set attached-routes.limit=-5s":                {"-5s is not between 1s and 2h0m0s"},
		"run --set =":                                        {"does not have the form SCENARIO.PARAMETER=VALUE"},
		"run --set attached-routes.=3":                       {"does not have the form SCENARIO.PARAMETER=VALUE"},
		"run --scenario attached-routes,attached-routes":     {"attached-routes stands at scenarios[0] already"},
		"run --scenario attached-routes/Big --isolation all": {`"Big" is not a name of lower-case letters`, `isolation: "all" is not one of`},
		"status --output xml":                                {`"xml" is not text or json`},
		"clean now":                                          {"takes no arguments"},
		"status now":                                         {"takes no arguments"},
		"version now":                                        {"takes no arguments"},
	} {
		t.Run(line, func(t *testing.T) {
			code, out, errors := command(t, "", line)
			if code != failure.Usage {
				t.Errorf("exit code %d, want %d\n%s", code, failure.Usage, errors)
			}
			for _, problem := range want {
				if !strings.Contains(errors, problem) {
					t.Errorf("not said: %s\nbut:\n%s", problem, errors)
				}
			}
			if out != "" {
				t.Errorf("printed on standard output: %q", out)
			}
		})
	}
}
