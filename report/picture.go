package report

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatemark/gatemark/report/chart"
	"github.com/gatemark/gatemark/result"
)

// pictures is the folder of the pictures that report.md shows.
const pictures = "figures"

func figurePath(f figure) string { return pictures + "/" + f.Anchor + ".svg" }

// writePictures writes each figure as a file of its own.
func writePictures(dir result.Directory, v *view) error {
	for _, s := range v.Sections {
		for _, f := range s.Figures {
			path := filepath.Join(string(dir), figurePath(f))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := replace(path, []byte(picture(f))); err != nil {
				return fmt.Errorf("write %s: %w", figurePath(f), err)
			}
		}
	}
	return nil
}

// picture is a figure that stands alone, with its legend.
func picture(f figure) string {
	var legend []chart.Entry
	if len(f.Legend) > 1 {
		for _, item := range f.Legend {
			legend = append(legend, chart.Entry{Title: item.Title, Color: item.Color, Dash: item.Dash})
		}
	}
	return f.Chart.Alone(wideSize, legend)
}
