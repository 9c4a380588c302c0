package report

import (
	"encoding/json"
	"io"

	"github.com/gatemark/gatemark/result"
)

// writeJSON writes everything that was recorded, as result.Document.
func writeJSON(w io.Writer, v *view) error {
	trials := v.Trials
	if trials == nil {
		trials = []*result.Trial{} // scripts iterate over it
	}
	return json.NewEncoder(w).Encode(result.Document{
		SchemaVersion: result.SchemaVersion, Run: v.Run, Trials: trials,
	})
}
