// Package attacker lets several processes attack as one. A Server does what it
// is told in the process that sends; a Fleet tells several of them, wherever
// they are, and makes one result of theirs.
//
// The protocol is JSON over HTTP, one attack at a time: prepare, start at an
// instant, mark, stop, result, reset. Every request carries a token. Every
// answer carries the server's instance, which is random, so that a server that
// was restarted is known to have lost its attack. Nothing is decoded that has
// fields which are not known, or that is larger than it can sensibly be.
//
// An instant means the same to all because the offset of each server's clock
// is measured, before and after the attack: see Offset. A server's clock is the
// system's at the server's start, and from then on the kernel's monotonic
// clock, so that setting the system's clock moves no attack.
//
// An attack by fewer than all is another attack. So the loss of one attacker,
// at any time, ends it: the others are stopped, and the error is an ErrLost.
package attacker
