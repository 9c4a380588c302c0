package cgroup

import (
	"bytes"
	"fmt"
)

// number reads a file that is one number. "max" is Unknown.
func number(text []byte) (int64, error) {
	text = bytes.TrimSpace(text)
	if string(text) == "max" {
		return Unknown, nil
	}
	if len(text) == 0 {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' || n > (1<<63-10)/10 {
			return 0, fmt.Errorf("%q is not a number", text)
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

// field finds a number by its key in lines of "key number".
func field(text []byte, key string) (int64, error) {
	for rest := text; len(rest) > 0; {
		line := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if len(line) > len(key) && line[len(key)] == ' ' && string(line[:len(key)]) == key {
			return number(line[len(key)+1:])
		}
	}
	return 0, fmt.Errorf("no line %s", key)
}

// Stall is the total of the line "some avg10=0.00 avg60=0.00 avg300=0.00
// total=12345" of a pressure file, from microseconds to nanoseconds.
func Stall(text []byte) (int64, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	some, ok := bytes.CutPrefix(line, []byte("some "))
	_, total, ok2 := bytes.Cut(some, []byte("total="))
	if !ok || !ok2 {
		return 0, fmt.Errorf("no total in %q", line)
	}
	n, err := number(total)
	return n * 1000, err
}
