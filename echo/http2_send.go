package echo

import (
	"time"

	"golang.org/x/net/http2"

	"github.com/gatemark/gatemark/echo/fault"
)

// head appends the response's header, and so ends the wait. A size of -1 is
// not told.
func (k *call) head(size int, last bool) {
	frame := k.beginHead(last)
	k.out = append(k.out, k.server.contentType2...)
	if size >= 0 {
		k.out = appendNumber(k.out, "content-length", int64(size))
	}
	k.finish(frame)
}

// beginHead begins a frame with the fields of every response but for those
// that depend on the content.
func (k *call) beginHead(last bool) int {
	flags := http2.FlagHeadersEndHeaders
	if last {
		flags |= http2.FlagHeadersEndStream
	}
	waited := k.server.waited(&k.verdict, k.read)
	frame := k.begin(http2.FrameHeaders, flags, k.id)
	k.out = appendStatus(k.out, k.code)
	k.out = append(k.out, k.server.names2...)
	// A header must fit in a frame.
	if k.route != "" && len(k.route) < 4<<10 {
		k.out = appendField(k.out, "gatemark-route", k.route)
	}
	if k.generation != "" && len(k.generation) < 4<<10 {
		k.out = appendField(k.out, "gatemark-generation", k.generation)
	}
	if k.verdict.RetryAfter != "" {
		k.out = appendField(k.out, "retry-after", k.verdict.RetryAfter)
	}
	if waited > 0 {
		k.out = appendNumber(k.out, "gatemark-delay-applied", int64(waited))
	}
	return frame
}

// send appends a part of the body. It waits for room where there is none, and
// returns false where the client has gone. The connection's lock is held, but
// not while it waits.
func (k *call) send(part []byte, last bool) bool {
	for {
		if k.left || k.ended {
			return false
		}
		room := min(k.window, k.http2Conn.window)
		if k.gone == nil {
			room = k.reserved
		}
		n := int(min(int64(len(part)), room, int64(k.maxFrame)))
		if n <= 0 && len(part) > 0 {
			if !k.makeRoom() {
				return false
			}
			continue
		}
		var flags http2.Flags
		if last && n == len(part) {
			flags = http2.FlagDataEndStream
		}
		frame := k.begin(http2.FrameData, flags, k.id)
		k.out = append(k.out, part[:n]...)
		k.finish(frame)
		k.use(int64(n))
		if part = part[n:]; len(part) == 0 {
			return true
		}
	}
}

// use takes n bytes that are sent from what was reserved, or the windows.
func (k *call) use(n int64) {
	if k.gone == nil {
		k.reserved -= n
		return
	}
	k.window -= n
	k.http2Conn.window -= n
}

// makeRoom waits for room. A call that may not wait, and needs more than was
// reserved, is one whose answer says that it was malformed: it is reset.
func (k *call) makeRoom() bool {
	if k.gone == nil {
		k.appendReset(k.id, http2.ErrCodeInternal)
		k.leave()
		return false
	}
	if k.flushLocked() != nil {
		return false
	}
	k.room.Wait()
	return true
}

// sendPage sends a body of n bytes, slowly where the verdict says so.
func (k *call) sendPage(n int) {
	v := &k.verdict
	piece := len(page) - phrase
	slow := v.Kind == fault.TrickleKind
	if slow {
		piece = min(piece, v.Bytes)
	}
	for sent, due := 0, time.Now(); sent < n; {
		if slow {
			due = due.Add(v.Interval)
			if !k.pause(due) {
				return
			}
		}
		part := page[sent%phrase:][:min(n-sent, piece)]
		sent += len(part)
		if !k.send(part, sent == n) {
			return
		}
		if len(k.out) > len(page) && k.flushLocked() != nil {
			return
		}
	}
}
