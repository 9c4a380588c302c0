package traffic

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/scenario"
)

// A point is a combination that is measured.
type point struct {
	connections int
	// rate is in requests a second; 0 is a closed loop.
	rate    int
	payload int // bytes
}

// unlimited is how a closed loop stands in lists of rates.
const unlimited = "max"

// String is for people: "16 connections, 500 requests/s, 4096 B".
func (p point) String() string {
	text := fmt.Sprintf("%d %s, ", p.connections, scenario.Plural(p.connections, "connection"))
	if p.rate == 0 {
		text += "as many requests as they allow"
	} else {
		text += fmt.Sprintf("%d requests/s", p.rate)
	}
	if p.payload > 0 {
		text += fmt.Sprintf(", %d B", p.payload)
	}
	return text
}

// key ends the names of the point's metrics: "c16-b4096-r500".
func (p point) key() string {
	text := "c" + strconv.Itoa(p.connections)
	if p.payload > 0 {
		text += "-b" + strconv.Itoa(p.payload)
	}
	if p.rate > 0 {
		text += "-r" + strconv.Itoa(p.rate)
	}
	return text
}

// pointsOf are all combinations of the parameters' lists, which were checked.
// Rates are multiplied by scale.
func pointsOf(v scenario.Values, scale float64) []point {
	list := func(name string) []int {
		all, err := numbers(v.String(name), 0, math.MaxInt, true)
		if err != nil {
			panic(fmt.Sprintf("parameter %s: %v", name, err))
		}
		return all
	}
	var all []point
	for _, payload := range list("payloads") {
		for _, rate := range list("rates") {
			for _, connections := range list("connections") {
				p := point{connections: connections, payload: payload}
				if rate > 0 {
					p.rate = max(1, int(math.Round(float64(rate)*scale)))
				}
				all = append(all, p)
			}
		}
	}
	return all
}

// numbers reads a list. With max it may hold that word, which is 0 then.
func numbers(text string, least, most int, max bool) ([]int, error) {
	var all []int
	seen := map[int]bool{}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		n, err := strconv.Atoi(word)
		switch {
		case max && word == unlimited:
			n = 0
		case err != nil:
			return nil, fmt.Errorf("%q is not a number", word)
		case n < least || n > most:
			return nil, fmt.Errorf("%d is not between %d and %d", n, least, most)
		}
		if seen[n] {
			return nil, fmt.Errorf("%s is there twice", word)
		}
		seen[n] = true
		all = append(all, n)
	}
	return all, nil
}
