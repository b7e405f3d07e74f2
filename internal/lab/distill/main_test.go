package distill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/models/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// concepts is a teacher that knows which words mean the same: the words of a
// made-up language are "<concept><form>", and a text is the sum of its
// concepts. It counts what it is asked, and can be made to fail.
type concepts struct {
	name    string
	dims    int
	asked   atomic.Int64
	failing atomic.Int64 // calls until it fails; 0: never
}

var errTeacher = errors.New("out of order")

func (c *concepts) Name() string    { return c.name }
func (c *concepts) Dimensions() int { return c.dims }

func (c *concepts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if c.failing.Load() > 0 && c.failing.Add(-1) == 0 {
		return nil, errTeacher
	}
	c.asked.Add(int64(len(texts)))
	out := make([][]float32, len(texts))
	for i, text := range texts {
		words := static.Words(text)
		if len(words) > 0 {
			out[i] = make([]float32, c.dims)
		}
		for _, w := range words {
			dice := rand.New(rand.NewPCG(hash64(w[:min(3, len(w))]), hash64(c.name)))
			for d := range out[i] {
				out[i][d] += float32(dice.NormFloat64())
			}
		}
	}
	return out, nil
}

// sentences returns n texts of the made-up language: 26 concepts, 4 forms each.
func sentences(n int) []Text {
	dice := rand.New(rand.NewPCG(7, 7))
	forms := []string{"o", "ilus", "arem", "ento"}
	out := make([]Text, n)
	for i := range out {
		words := make([]string, 3+dice.IntN(5))
		for j := range words {
			words[j] = strings.Repeat(string(rune('a'+dice.IntN(26))), 3) + forms[dice.IntN(len(forms))]
		}
		out[i] = Text{Text: strings.Join(words, " "), Group: fmt.Sprint("vendor ", i%3)}
	}
	return out
}
