package ranking

import (
	"maps"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// setProviders sets the similarity of the query to the document of each candidate's provider: a tool
// may match by a stray word, but its provider seldom does so, too. It is the mean of four cosines:
// of name and whole document, with query and best need. A provider without a description, whose
// name alone adds nothing to its tools, gets the mean of the others.
func setProviders(rs []Ranked) {
	about := map[string]float64{}
	for i := range rs {
		r := &rs[i]
		f := &r.Features
		described := f[fusion.QueryDenseDescription] != f[fusion.QueryDenseName] // else the index repeats the cosine of the name
		if r.Kind == schema.KindProvider && described {
			about[r.ID] = (f[fusion.QueryDenseName] + f[fusion.QueryDenseFlat] + f[fusion.NeedsDenseName] + f[fusion.NeedsDenseFlat]) / 4
		}
	}
	neutral := fusion.Mean(slices.Sorted(maps.Values(about)))
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
