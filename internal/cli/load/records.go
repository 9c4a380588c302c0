package load

import (
	"errors"
	"fmt"
	"os"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/records"
)

// recordFile is the file that --records names.
type recordFile struct {
	file   *os.File
	writer *records.Writer
}

func createRecords(path string, attack *load.Options) (*recordFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	r := &recordFile{file, records.NewWriter(file)}
	attack.Records = r.writer
	return r, nil
}

// close ends the file. An attack that failed has no result; its records are
// whole nevertheless.
func (r *recordFile) close(result *load.Result) error {
	if result == nil {
		result = &load.Result{}
	}
	return errors.Join(r.writer.Close(result.Started), r.file.Close())
}
