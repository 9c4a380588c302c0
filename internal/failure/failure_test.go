package failure

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestHintsSurviveWrappingAndJoining(t *testing.T) {
	inner := Hint(errors.New("no such cluster"), "gatemark up")
	err := errors.Join(errors.New("other"), fmt.Errorf("run: %w", Hint(inner, "gatemark status")))
	if got, want := Hints(err), []string{"gatemark status", "gatemark up"}; !slices.Equal(got, want) {
		t.Errorf("hints %q, want %q", got, want)
	}
	if got, want := inner.Error(), "no such cluster"; got != want {
		t.Errorf("a hint must not change the text: got %q, want %q", got, want)
	}
}

func TestCodeOf(t *testing.T) {
	plain := errors.New("boom")
	for _, c := range []struct {
		name string
		err  error
		want Code
	}{
		{"nil is ok", nil, OK},
		{"a plain error", plain, CouldNotRun},
		{"a wrapped code", fmt.Errorf("plan: %w", WithCode(plain, Usage)), Usage},
		{"the outermost code wins", WithCode(WithCode(plain, Usage), Interrupted), Interrupted},
		{"no problems", Problems(nil), OK},
		{"problems are the user's", Problems([]error{plain, plain}), Usage},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%s: code %d, want %d", c.name, got, c.want)
		}
	}
}
