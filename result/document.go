package result

// A Document is report.json: one run and its trials in one file.
type Document struct {
	SchemaVersion string   `json:"schemaVersion"`
	Run           *Run     `json:"run"`
	Trials        []*Trial `json:"trials"`
}
