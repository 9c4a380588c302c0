package fault

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/json"

	"github.com/gatemark/gatemark/internal/failure"
)

// Decode reads Faults from JSON. Unknown and duplicate fields are errors; all
// of them are reported at once.
func Decode(data []byte) (Faults, error) {
	var f Faults
	strict, err := json.UnmarshalStrict(data, &f)
	if err != nil {
		return Faults{}, failure.WithCode(fmt.Errorf("faults are no JSON that fits: %w", err), failure.Usage)
	}
	for i := range strict {
		strict[i] = fmt.Errorf("faults: %w", strict[i])
	}
	if len(strict) > 0 {
		// What does fit may have problems as well.
		if _, err := Compile(f, &Totals{}); err != nil {
			strict = append(strict, err)
		}
		return Faults{}, failure.Problems(strict)
	}
	return f, nil
}

// problems collects everything that is wrong, with the field it is in.
type problems []error

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, fmt.Errorf("%s: %w", field, fmt.Errorf(format, args...)))
}

func (p *problems) duration(field string, d Duration) time.Duration {
	value, err := d.parse()
	if err != nil {
		p.add(field, "%w", err)
	}
	return value
}

func (p problems) join() error {
	if len(p) == 0 {
		return nil
	}
	return failure.WithCode(errors.Join(p...), failure.Usage)
}
