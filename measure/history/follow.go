package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A follower keeps one history up to date: read and decode are a goroutine
// each, and only decode calls record.
type follower[T any, P Object[T]] struct {
	watcher *Watcher
	source  *source
	record  func(Event[T])
	queue   *queue
	// version is the last one decoded. It belongs to decode while the queue is
	// not drained, and to read when it is.
	version string
}

// read stamps and queues frames for as long as the context lives.
func (f *follower[T, P]) read(ctx context.Context, stream io.ReadCloser) {
	defer f.queue.close()
	for stream != nil {
		err := frames(stream, f.accept)
		stream.Close()
		if ctx.Err() != nil {
			return
		}
		stream = f.resume(ctx, err)
	}
}

// accept queues a frame, unless it says that the stream failed.
func (f *follower[T, P]) accept(fr frame) error {
	if bytes.HasPrefix(fr.line, []byte(`{"type":"ERROR"`)) {
		return statusOf(fr.line)
	}
	return f.queue.put(fr)
}

func statusOf(line []byte) error {
	var event struct {
		Object metav1.Status `json:"object"`
	}
	if err := jsonv2.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("the watch failed, and its error cannot be decoded: %w", err)
	}
	return &apierrors.StatusError{ErrStatus: event.Object}
}

// resume opens the stream again where it ended, or, where that version is not
// to be had any more, from a new list. It returns nil when the context ended.
func (f *follower[T, P]) resume(ctx context.Context, cause error) io.ReadCloser {
	began := now()
	f.queue.drain()
	lost := breaks(cause)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if lost && f.relist(ctx, cause) == nil {
			lost = false
		}
		if !lost {
			stream, err := f.source.watch(ctx, f.version)
			if err == nil {
				f.watcher.note(func(r *Report) {
					r.Gaps = append(r.Gaps, Gap{From: began, To: now(), Text: cause.Error()})
				})
				return stream
			}
			if breaks(err) {
				lost, cause = true, err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// breaks reports whether after this error the versions that follow the last
// one cannot be had.
func breaks(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, errTooFarBehind)
}

// relist notes a loss and records the state anew.
func (f *follower[T, P]) relist(ctx context.Context, cause error) error {
	var state []Event[T]
	version, err := list(ctx, f.source, func(e Event[T]) { state = append(state, e) })
	if err != nil {
		return err
	}
	f.queue.drain()
	f.lose(fmt.Sprintf("after version %s: %v", f.version, cause))
	f.version = version
	return f.queue.put(frame{at: now(), relisted: func() {
		for _, e := range state {
			f.record(e)
		}
	}})
}

func (f *follower[T, P]) lose(text string) {
	f.watcher.note(func(r *Report) { r.Losses = append(r.Losses, Loss{At: now(), Text: text}) })
}

// decode records frames until the queue is closed and empty.
func (f *follower[T, P]) decode() {
	var taken []frame
	for {
		taken = f.queue.take(taken)
		if len(taken) == 0 {
			return
		}
		size, events, behind := 0, 0, time.Duration(0)
		for _, fr := range taken {
			behind = max(behind, now().Sub(fr.at))
			size += len(fr.line)
			events += f.event(fr)
		}
		f.watcher.note(func(r *Report) {
			r.Events += events
			r.Bytes += int64(size)
			r.Behind = max(r.Behind, behind)
			r.Version = f.version
		})
	}
}

// event records one frame and returns how many events it was: 0 for a
// bookmark.
func (f *follower[T, P]) event(fr frame) int {
	if fr.relisted != nil {
		fr.relisted()
		return 0
	}
	kind, object, err := cut(fr.line)
	decoded := new(T)
	if err == nil {
		err = jsonv2.Unmarshal(object, decoded)
	}
	if err != nil {
		f.lose(fmt.Sprintf("an event after version %s cannot be decoded: %v", f.version, err))
		return 0
	}
	f.version = P(decoded).GetResourceVersion()
	if kind == watch.Bookmark {
		return 0
	}
	f.record(Event[T]{Type: kind, Object: decoded, At: fr.at})
	return 1
}

const added = watch.Added

// cut splits a line into type and object without decoding the object twice.
// API servers write the two in this order and without spaces; a proxy that
// does not is served by the slow way.
func cut(line []byte) (watch.EventType, []byte, error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`))
	kind, object, found := bytes.Cut(rest, []byte(`","object":`))
	object = bytes.TrimRight(object, " \r\n")
	if ok && found && len(kind) < 10 && bytes.HasSuffix(object, []byte("}")) {
		return watch.EventType(kind), object[:len(object)-1], nil
	}
	var event struct {
		Type   watch.EventType `json:"type"`
		Object jsontext.Value  `json:"object"`
	}
	err := jsonv2.Unmarshal(line, &event)
	return event.Type, event.Object, err
}
