package load

import "testing"

func TestStolenTime(t *testing.T) {
	before := parseMachineTime([]byte("cpu  100 0 50 800 10 0 0 40 7 0"))
	after := parseMachineTime([]byte("cpu  150 0 75 815 10 0 0 50 9 0"))
	if before.all != 1000 || before.steal != 40 || before.stolen(after) != 0.1 {
		t.Errorf("%+v, %+v: %v", before, after, before.stolen(after))
	}
	if got := before.stolen(before); got != 0 {
		t.Errorf("in no time %v", got)
	}
	for _, line := range []string{"", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu 1 2 3", "cpu 1 2 x 4 5 6 7 8"} {
		if m := parseMachineTime([]byte(line)); m != (machineTime{}) {
			t.Errorf("%q: %+v", line, m)
		}
	}
	if m := readMachineTime(); m.all == 0 {
		t.Error("this machine does not tell")
	}
}
