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

func picturePath(p panel) string { return pictures + "/" + p.Chart.ID + ".svg" }

// writePictures writes each picture as a file of its own.
func writePictures(dir result.Directory, v *view) error {
	for _, s := range v.Sections {
		for _, f := range s.Figures {
			for _, p := range f.Panels {
				path := filepath.Join(string(dir), picturePath(p))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return err
				}
				if err := replace(path, []byte(picture(f, p))); err != nil {
					return fmt.Errorf("write %s: %w", picturePath(p), err)
				}
			}
		}
	}
	return nil
}

// picture is a panel that stands alone, with its legend.
func picture(f figure, p panel) string {
	var legend []chart.Entry
	if len(f.Legend) > 1 {
		for _, item := range f.Legend {
			legend = append(legend, chart.Entry{Title: item.Title, Color: item.Color, Dash: item.Dash})
		}
	}
	return p.Chart.Alone(wideSize, legend)
}
