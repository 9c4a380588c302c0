package chart

import "math"

// A point is a place in the picture, in pixels.
type point struct{ x, y float64 }

// thinCurve keeps, of the points in each column of pixels, the first, lowest,
// highest and last one in their order: what they cover is the same.
func thinCurve(points []point) []point {
	if len(points) <= 4 {
		return points
	}
	var kept []point
	for start := 0; start < len(points); {
		column := math.Floor(points[start].x)
		end := start + 1
		for end < len(points) && math.Floor(points[end].x) == column {
			end++
		}
		kept = appendColumn(kept, points[start:end])
		start = end
	}
	return kept
}

func appendColumn(kept, column []point) []point {
	if len(column) <= 4 {
		return append(kept, column...)
	}
	lowest, highest := 0, 0
	for i, p := range column {
		if p.y < column[lowest].y {
			lowest = i
		}
		if p.y > column[highest].y {
			highest = i
		}
	}
	last := -1
	for _, i := range []int{0, min(lowest, highest), max(lowest, highest), len(column) - 1} {
		if i != last {
			kept = append(kept, column[i])
		}
		last = i
	}
	return kept
}

// A dot is a place of a cloud that is drawn, in squares, in one colour.
type dot struct{ color, x, y int }

// thinCloud keeps the points whose square of that many pixels has no dot of
// their colour yet. Dots are wider than two pixels, so that squares of two
// stay covered.
func thinCloud(points []point, color int, square float64, taken map[dot]bool) []point {
	kept := points[:0:0]
	for _, p := range points {
		place := dot{color, int(math.Round(p.x / square)), int(math.Round(p.y / square))}
		if !taken[place] {
			taken[place] = true
			kept = append(kept, p)
		}
	}
	return kept
}
