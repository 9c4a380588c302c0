package load

// A blockKind is how a header block stands to HPACK's table.
type blockKind struct {
	// refers is set for a block that means something else with another table,
	// or that resizes it, or that is not understood.
	refers bool
	// adds is how much it adds to the table, in bytes, at the least.
	adds int
}

// unknownBlock is a block that must be decoded each time.
var unknownBlock = blockKind{refers: true, adds: 1}

// staticEntries is how many fields HPACK's table always has: what is behind
// them was added. RFC 7541, appendix A.
const staticEntries = 61

// kindOf looks through a block without decoding it: RFC 7541, section 6.
func kindOf(block []byte) blockKind {
	var k blockKind
	for len(block) > 0 {
		var index uint64
		var ok bool
		adds := false
		switch b := block[0]; {
		case b&0x80 != 0: // indexed
			if index, block, ok = varint(block, 7); !ok {
				return unknownBlock
			}
			k.refers = k.refers || index > staticEntries
			continue
		case b&0xc0 == 0x40: // literal, added
			index, block, ok = varint(block, 6)
			adds = true
		case b&0xe0 == 0x20: // table size
			return unknownBlock
		default: // literal
			index, block, ok = varint(block, 4)
		}
		k.refers = k.refers || index > staticEntries
		size := entryOverhead
		for strings := 2 - min(int(index), 1); ok && strings > 0; strings-- {
			var least int
			least, block, ok = skipString(block)
			size += least
		}
		if !ok {
			return unknownBlock
		}
		if adds {
			k.adds += size
		}
	}
	return k
}

// skipString skips a string, and says how long it is at the least.
func skipString(block []byte) (least int, rest []byte, ok bool) {
	if len(block) == 0 {
		return 0, nil, false
	}
	packed := block[0]&0x80 != 0
	size, rest, ok := varint(block, 7)
	if !ok || size > uint64(len(rest)) {
		return 0, nil, false
	}
	if least = int(size); packed {
		least = 8 * least / 30 // no code is longer than 30 bits
	}
	return least, rest[size:], true
}

// varint reads an integer with a prefix of some bits: RFC 7541, section 5.1.
func varint(block []byte, bits int) (n uint64, rest []byte, ok bool) {
	if len(block) == 0 {
		return 0, nil, false
	}
	most := uint64(1)<<bits - 1
	if n = uint64(block[0]) & most; n < most {
		return n, block[1:], true
	}
	for i, b := range block[1:] {
		if i > 3 {
			return 0, nil, false
		}
		n += uint64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return n, block[i+2:], true
		}
	}
	return 0, nil, false
}
