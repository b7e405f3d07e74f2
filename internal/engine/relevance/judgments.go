package relevance

import "slices"

// Judgments are the relevant ids of one query.
type Judgments struct {
	gains  []float64        // of each label
	labels map[string][]int // by id, the labels that it finds; its own label comes first
}

// Empty reports whether there is nothing to be found.
func (j *Judgments) Empty() bool { return len(j.gains) == 0 }

// Gain returns the gain of an id by itself, 0 if it is not relevant.
func (j *Judgments) Gain(id string) float64 {
	var best float64
	for _, label := range j.labels[id] {
		best = max(best, j.gains[label])
	}
	return best
}

// JudgeTools returns the judgments for a ranking of tools. Labels of one id
// are one, with the larger relevance.
func JudgeTools(labels []Label) *Judgments {
	j := &Judgments{labels: map[string][]int{}}
	at := map[string]int{}
	for _, l := range labels {
		if l.Relevance <= 0 {
			continue
		}
		i, known := at[l.ID]
		if !known {
			i = len(j.gains)
			at[l.ID] = i
			j.gains = append(j.gains, 0)
			j.labels[l.ID] = []int{i}
		}
		j.gains[i] = max(j.gains[i], l.Relevance)
	}
	for _, l := range labels {
		i, relevant := at[l.ID]
		if !relevant || l.Relevance <= 0 {
			continue
		}
		for _, alternative := range l.Alternatives {
			if !slices.Contains(j.labels[alternative], i) {
				j.labels[alternative] = append(j.labels[alternative], i)
			}
		}
	}
	return j
}

// JudgeProviders returns the judgments for a ranking of providers: each label is the
// owners of its tool and of the alternatives, and labels that share an owner
// are one. Owners are by the id of the tool; a label of tools without an owner
// asks for nothing.
func JudgeProviders(labels []Label, owners map[string]string) *Judgments {
	var groups []group
	for _, l := range labels {
		g := group{gain: l.Relevance}
		for _, tool := range append([]string{l.ID}, l.Alternatives...) {
			if owner := owners[tool]; owner != "" && !slices.Contains(g.owners, owner) {
				g.owners = append(g.owners, owner)
			}
		}
		if l.Relevance > 0 && len(g.owners) > 0 {
			groups = join(groups, g)
		}
	}
	j := &Judgments{labels: map[string][]int{}}
	for i, g := range groups {
		j.gains = append(j.gains, g.gain)
		for _, owner := range g.owners {
			j.labels[owner] = []int{i}
		}
	}
	return j
}

// group is a set of owners; any one of them answers a label.
type group struct {
	owners []string
	gain   float64
}

// join adds g to disjoint groups and unites it with all groups that it shares an owner with.
func join(groups []group, g group) []group {
	var apart []group
	for _, other := range groups {
		if !slices.ContainsFunc(other.owners, func(o string) bool { return slices.Contains(g.owners, o) }) {
			apart = append(apart, other)
			continue
		}
		g.gain = max(g.gain, other.gain)
		for _, owner := range other.owners {
			if !slices.Contains(g.owners, owner) {
				g.owners = append(g.owners, owner)
			}
		}
	}
	return append(apart, g)
}
