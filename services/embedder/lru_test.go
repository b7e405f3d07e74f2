package embedder

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What is asked for stays; what nobody asks for is let go, and can be kept
// anew.
func TestLRULetsGoWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := newLRU[string, int](10)
		go c.sweep(ctx, time.Minute)
		c.put("a", 1)
		for range 5 {
			time.Sleep(50 * time.Second)
			if _, ok := c.get("a"); !ok {
				t.Fatal("it went while it was in use")
			}
		}
		for n := range 3 { // a slow batch comes by and by, and may be tried again
			time.Sleep(50 * time.Second)
			c.put(fmt.Sprint("slow", n), n)
		}
		if _, ok := c.get("slow0"); !ok {
			t.Error("what a slow batch began with went before it was done")
		}
		time.Sleep(3 * time.Minute)
		if _, ok := c.get("slow0"); ok {
			t.Error("it is there after three idle minutes")
		}
		c.put("b", 2)
		if v, ok := c.get("b"); !ok || v != 2 {
			t.Error("nothing is kept after a sweep")
		}
	})
}
