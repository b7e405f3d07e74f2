package query

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/ranking"
)

// What requests and tools say of each other, to see how an embedding model uses its range
// of cosines: requests[i] and tools[i] mean the same, others are about different things.
var (
	requests = []string{
		"book a table for two tonight", "what is the weather in Oslo tomorrow", "translate this letter into French",
		"how much is the euro in dollars", "delete the old branch of the repository", "play some jazz in the kitchen",
		"find cheap flights to Lisbon", "remind me to call the dentist",
	}
	tools = []string{
		"Reserves a table at a restaurant.", "Returns the weather forecast of a place.", "Translates a text from one language to another.",
		"Converts an amount of money between currencies.", "Deletes a branch of a Git repository.", "Plays music on a speaker of the house.",
		"Searches for flights between two airports.", "Creates a reminder at a given time.",
	}
)

// scaleTexts are the texts that scaleOf takes the vectors of.
func scaleTexts() []string { return slices.Concat(requests, tools) }

// scaleOf returns the scale of a model by the vectors of scaleTexts.
func scaleOf(vectors [][]float32) *ranking.Scale {
	s, n := &ranking.Scale{}, float64(len(requests))
	for i, request := range vectors[:len(requests)] {
		for j, tool := range vectors[len(requests):] {
			if c := cosine(request, tool); i == j {
				s.Same += c / n
			} else {
				s.Unrelated += c / n / (n - 1)
			}
		}
	}
	if math.IsNaN(s.Same) || math.IsNaN(s.Unrelated) {
		return &ranking.Scale{}
	}
	return s
}

// cosine is the inner product of two unit vectors, 0 where they are of different lengths.
func cosine(a, b []float32) (sum float64) {
	if len(a) != len(b) {
		return 0
	}
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// measuring is how long a model may take for scaleTexts.
const measuring = 30 * time.Second

// measure lets an index know the scale of its model. The first searches wait for it as long
// as ctx lasts, all for one call, which goes on after that: a model that embeds a query in
// time may be too slow for so many texts.
func (now *snapshot) measure(ctx context.Context) {
	if now.scale.Load() != nil {
		return
	}
	asked := now.measured.DoChan("", func() (any, error) {
		if !now.readers.TryRLock() {
			return nil, nil // searches go to another index now
		}
		defer now.readers.RUnlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), measuring)
		defer cancel()
		vectors, err := now.embed(ctx, scaleTexts())
		if err == nil {
			now.scale.Store(scaleOf(vectors))
		}
		return nil, err
	})
	select {
	case <-asked:
	case <-ctx.Done():
	}
}

// scale returns how the similarities of a search compare with those of other models; where
// words alone were searched they do not.
func (sr *search) scale() ranking.Scale {
	wordsAlone := func(part string) bool { return part == degradedVectors || part == degradedIndex }
	if known := sr.index.scale.Load(); known != nil && !slices.ContainsFunc(sr.parts.names(), wordsAlone) {
		return *known
	}
	return ranking.Scale{}
}

// nothingFits reports whether none of the hits is likely to be what the query wants.
func (sr *search) nothingFits(hits []ranking.Hit, s ranking.Scale) bool {
	return !slices.ContainsFunc(hits, func(h ranking.Hit) bool {
		return sr.confidence(h, s) >= ranking.NothingFits
	})
}

// confidence returns how likely a hit is what the query wants; 0 for one that is held back,
// whose texts say nothing of that.
func (sr *search) confidence(h ranking.Hit, s ranking.Scale) float64 {
	if h.By.HeldBack != "" {
		return 0
	}
	return h.By.Evidence(sr.model, s).Confidence()
}
