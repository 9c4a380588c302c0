package load

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

var errUpgrade = &MalformedError{"upgrade without what proves it"}

// webSocketGUID is what a server hashes with the key: RFC 6455, section 1.3.
const webSocketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// appendUpgrade appends the HTTP/1.1 request that asks for the upgrade.
func (c *webSocket) appendUpgrade(out []byte, x *exchange) []byte {
	c.newKey()
	r := x.request
	start := len(out)
	out = append(append(append(out, "GET "...), r.path...), " HTTP/1.1\r\nHost: "...)
	out = append(append(out, r.authority...), "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"...)
	out = append(append(append(out, "Sec-WebSocket-Key: "...), c.key...), "\r\nSec-WebSocket-Version: 13\r\n"...)
	for _, f := range r.header {
		if !upgradeField(f.name) {
			out = append(append(append(append(out, f.name...), ": "...), f.value...), "\r\n"...)
		}
	}
	out = append(out, "\r\n"...)
	for at := nextNumber(out, start); at >= 0; at = nextNumber(out, at+numberDigits) {
		putNumber(out[at:], x.number)
	}
	return out
}

// upgradeField reports whether the upgrade has its own field of that name, or
// none: extensions and bodies are not for it.
func upgradeField(name string) bool {
	switch name {
	case "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "content-length":
		return true
	}
	return connectionField(name)
}

func (c *webSocket) newKey() {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	c.key = base64.StdEncoding.EncodeToString(raw[:])
}

// upgrade takes the handshake's response.
func (c *webSocket) upgrade(in []byte, full bool) (int, error) {
	used, done, err := c.response.Parse(in, full)
	if room := MaxHead - len(c.head); room > 0 { // the rest is a refusal's body
		c.head = append(c.head, in[:min(used, room)]...)
	}
	switch {
	case err != nil || !done:
		return used, err
	case c.response.Status != 101:
		c.refused()
		return len(in), nil
	case !c.upgraded():
		return used, errUpgrade
	}
	c.state = webSocketOpen
	c.out = c.appendMessage(c.out, c.waiting.front())
	return used, nil
}

// refused hands over an answer that is no upgrade.
func (c *webSocket) refused() {
	r := &c.response
	c.state = webSocketOver
	c.answer = answer{status: r.Status, body: r.Body, grpc: -1, delay: r.Delay, marker: &r.Marker}
	c.owner.answered(c.waiting.pop(), &c.answer)
}

// upgraded reports whether the response proves that the server speaks
// WebSocket: RFC 6455, section 4.1.
func (c *webSocket) upgraded() bool {
	var upgrade, connection, accept bool
	for line := range bytes.SplitSeq(c.head, []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = trim(bytes.TrimSuffix(value, []byte("\r")))
		switch {
		case is(name, "upgrade"):
			upgrade = is(value, "websocket")
		case is(name, "connection"):
			for option := range bytes.SplitSeq(value, comma) {
				connection = connection || is(trim(option), "upgrade")
			}
		case is(name, "sec-websocket-accept"):
			sum := sha1.Sum([]byte(c.key + webSocketGUID))
			accept = string(value) == base64.StdEncoding.EncodeToString(sum[:])
		case is(name, "sec-websocket-extensions"):
			return false // none was offered
		}
	}
	return upgrade && connection && accept
}
