package known

import "container/heap"

// A queue holds connections by the instant of their next action.
type queue struct{ h connHeap }

func (q *queue) Len() int    { return len(q.h) }
func (q *queue) next() int64 { return q.h[0].at }
func (q *queue) add(c *conn) { heap.Push(&q.h, c) }

func (q *queue) take() *conn {
	c, ok := heap.Pop(&q.h).(*conn)
	if !ok {
		panic("the queue holds connections only")
	}
	return c
}

// drop takes out a connection that is closed; one that is not in does no harm.
func (q *queue) drop(c *conn) {
	if c.place < len(q.h) && q.h[c.place] == c {
		heap.Remove(&q.h, c.place)
	}
}

// connHeap implements heap.Interface.
type connHeap []*conn

func (h connHeap) Len() int           { return len(h) }
func (h connHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h connHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *connHeap) Push(x any) {
	c, ok := x.(*conn)
	if !ok {
		panic("the queue holds connections only")
	}
	c.place = len(*h)
	*h = append(*h, c)
}

func (h *connHeap) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return c
}
