package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
)

// lackWords is how many different reasons a sentence holds.
const lackWords = 2

// FindUnaccepted tells of valid routes whose status never became current, by
// what it lacked to the last, out of so many. Each was waited for limit.
func (t *Trial) FindUnaccepted(lacks map[string]string, routes int, limit time.Duration) {
	if len(lacks) == 0 {
		return
	}
	reasons := map[string]int{}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		lack := cmp.Or(lacks[name], "no status at all")
		reasons[lack]++
		lines = append(lines, name+": "+lack)
	}
	words := Tally(reasons, "%d× %s")
	if len(words) > lackWords {
		words = append(words[:lackWords], "others")
	}
	t.Find("not-accepted", result.Costly,
		fmt.Sprintf("the status of %d of %d valid routes did not say within %s, in the generation that was written, that they are accepted and their references resolved (%s); who waits for that may wait for ever",
			len(lacks), routes, limit, strings.Join(words, ", ")),
		result.Evidence{Name: "what the status lacked to the last", Text: Excerpt(lines)})
}
