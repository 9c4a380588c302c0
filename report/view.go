package report

import (
	"github.com/gatemark/gatemark/result"
)

// A view is what every format shows, worked out once.
type view struct {
	Run    *result.Run
	Trials []*result.Trial
}

func newView(run *result.Run, trials []*result.Trial) *view {
	return &view{Run: run, Trials: trials}
}
