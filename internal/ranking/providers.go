package ranking

import (
	"maps"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// providers sets how near the query is to what the provider of a candidate says of
// itself: a tool may match by a stray word, and its provider seldom does so, too.
func providers(rs []Ranked) {
	about, neutral := ownDocuments(rs)
	for i := range rs {
		owner := Owner(&rs[i].Candidate)
		if owner == "" {
			continue
		}
		f := &rs[i].Features[fusion.RelatedProvider]
		*f = neutral
		if cosine, known := about[owner]; known {
			*f = cosine
		}
	}
}

// ownDocuments returns the cosine of the query and the document of each provider that
// has a description, the mean over name and whole document, query and best need; and the
// mean of all, which the other providers have. A name alone tells nothing that a
// provider's tools do not.
func ownDocuments(rs []Ranked) (about map[string]float64, neutral float64) {
	about = map[string]float64{}
	for i := range rs {
		r := &rs[i]
		if f := &r.Features; r.Kind == schema.KindProvider && described(f) {
			about[r.ID] = (f[fusion.QueryDenseName] + f[fusion.QueryDenseFlat] + f[fusion.NeedsDenseName] + f[fusion.NeedsDenseFlat]) / 4
		}
	}
	cosines := slices.Sorted(maps.Values(about))
	return about, fusion.Mean(cosines)
}

// described reports whether an entity has a description: the index gives the cosine of
// the name to one that there is not.
func described(f *fusion.Features) bool {
	return f[fusion.QueryDenseDescription] != f[fusion.QueryDenseName]
}
