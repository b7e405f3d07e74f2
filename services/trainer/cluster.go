package trainer

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Limits of a query cluster.
const (
	maxSessions = 32   // the newest
	maxTools    = 128  // different results of these
	maxDepth    = 20   // results of a search: users hardly look further
	maxEarlier  = 20   // uses before that a session holds, the newest
	sameQuery   = 0.95 // least cosine of queries in one cluster
)

// cluster groups searches with similar queries: their results, and the acts of users. It
// does not hold the text of a query. A search without a vector is a cluster of its own.
type cluster struct {
	id       string
	Model    string           `json:"model,omitempty"` // embedding model of Vector and of the features
	Vector   schema.Direction `json:"vector,omitempty"`
	Tools    []clusterTool    `json:"tools"`
	Sessions []session        `json:"sessions"` // in the order of their times, one for each client of a credential
}

// clusterTool is a result as the newest search of the cluster showed it.
type clusterTool struct {
	ID       string         `json:"id"`
	Kind     schema.Kind    `json:"kind,omitempty"`
	Provider string         `json:"provider,omitempty"`
	Step     int            `json:"step,omitempty"` // that the features are of; 0: the whole query
	Features packed         `json:"features"`
	Matches  []schema.Match `json:"matches,omitempty"`
}

// packed are features as four bytes each, base64 in JSON.
type packed []byte

func pack(features fusion.Features) (p packed) {
	for _, x := range features {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(x)))
	}
	return p
}

func (p packed) features() (f fusion.Features) {
	for i := range min(len(f), len(p)/4) {
		f[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:])))
	}
	return f
}

// reporter is the sender of feedback. A credential may invent names of clients.
type reporter struct {
	Credential string `json:"credential,omitempty"`
	Client     string `json:"client,omitempty"`
}

// session is a search of the cluster that users gave feedback on.
type session struct {
	Search string    `json:"search"`
	At     time.Time `json:"at"`
	reporter
	Shown   []int `json:"shown"` // positions in Tools, by rank
	acts          // at positions in Tools
	Earlier []int `json:"earlier,omitempty"` // used in each of the client's sessions that this one replaced
	lift
}

// observe adds a search to its cluster, or replaces the earlier session of the same search.
// A tenant has at most limit clusters: dropCluster makes space for a new cluster.
func (t *tenantState) observe(rec *searchRecord, limit int) {
	c := t.clusters[rec.Cluster]
	if c == nil {
		c = t.clusterOf(rec)
	}
	if c == nil {
		if len(t.clusters) >= limit {
			t.dropCluster()
		}
		c = &cluster{id: clusterID(rec), Model: rec.Model, Vector: rec.Vector}
		t.clusters[c.id] = c
	}
	if rec.Cluster == "" {
		t.model(rec.Model).Fresh++
		rec.Cluster = c.id
	}
	c.add(rec)
	t.dirty[c.id] = true
	t.usageChanged, t.changed = true, true
}

// dropCluster drops the oldest cluster of the credential that alone owns the most clusters, so
// that no credential evicts the clusters of the others.
func (t *tenantState) dropCluster() {
	list := t.byAge()
	owned, most := map[string]int{}, 0
	for _, c := range list {
		if owner, one := c.owner(); one {
			owned[owner]++
			most = max(most, owned[owner])
		}
	}
	at := slices.IndexFunc(list, func(c *cluster) bool {
		owner, one := c.owner()
		return one && owned[owner] == most
	})
	dropped := list[max(at, 0)].id
	delete(t.clusters, dropped)
	t.dirty[dropped] = true
}

// owner returns the credential of all sessions, and whether there is one.
func (c *cluster) owner() (credential string, one bool) {
	for i := range c.Sessions {
		if credential = c.Sessions[i].Credential; credential != c.Sessions[0].Credential {
			return "", false
		}
	}
	return credential, len(c.Sessions) > 0
}

// clusterOf returns the cluster that a search belongs to, nil for a new one.
func (t *tenantState) clusterOf(rec *searchRecord) *cluster {
	if len(rec.Vector) == 0 {
		return t.clusters[clusterID(rec)]
	}
	var nearest *cluster
	best := sameQuery
	for _, c := range t.clusters {
		if c.Model != rec.Model || len(c.Vector) != len(rec.Vector) {
			continue
		}
		if cosine := c.Vector.Cosine(rec.Vector); cosine > best || cosine == best && (nearest == nil || c.id < nearest.id) {
			nearest, best = c, cosine
		}
	}
	return nearest
}

// clusterID names a cluster by its first query, or by its only search.
func clusterID(rec *searchRecord) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(rec.Model + "\x00")) // never fails
	for _, x := range rec.Vector {
		_, _ = h.Write([]byte{byte(x)})
	}
	if len(rec.Vector) == 0 {
		_, _ = h.Write([]byte(rec.id))
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// byAge returns the clusters, ordered by their newest sessions, oldest first.
func (t *tenantState) byAge() []*cluster {
	list := make([]*cluster, 0, len(t.clusters))
	for _, c := range t.clusters {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *cluster) int { return cmp.Or(a.newest().Compare(b.newest()), cmp.Compare(a.id, b.id)) })
	return list
}

func (c *cluster) newest() time.Time {
	if len(c.Sessions) == 0 {
		return time.Time{}
	}
	return c.Sessions[len(c.Sessions)-1].At
}

// add adds the session of a search to the cluster. Only the newest session of a client stays,
// so that a client does not count twice.
func (c *cluster) add(rec *searchRecord) {
	var earlier []int
	c.Sessions = slices.DeleteFunc(c.Sessions, func(s session) bool {
		switch {
		case s.Search == rec.id:
			earlier = append(earlier, s.Earlier...)
		case s.Client != "" && s.reporter == rec.reporter && !s.At.After(rec.at):
			earlier = append(append(earlier, s.Earlier...), s.Used...)
		default:
			return false
		}
		return true
	})
	if rec.Client != "" && slices.ContainsFunc(c.Sessions, func(s session) bool { return s.reporter == rec.reporter }) {
		return // of a newer search
	}
	added := c.session(rec)
	added.Earlier = earlier[max(0, len(earlier)-maxEarlier):]
	at, _ := slices.BinarySearchFunc(c.Sessions, added, func(a, b session) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Search, b.Search))
	})
	c.Sessions = slices.Insert(c.Sessions, at, added)
	if len(c.Sessions) > maxSessions {
		c.dropSession()
	}
	for c.compact(); len(c.Tools) > maxTools; c.compact() {
		c.dropSession()
	}
}

// dropSession drops the oldest session of the credential with the most sessions, so that no
// credential evicts the sessions of the others.
func (c *cluster) dropSession() {
	sessions := c.byCredential()
	most := 0
	for _, n := range sessions {
		most = max(most, n)
	}
	oldest := slices.IndexFunc(c.Sessions, func(s session) bool { return sessions[s.Credential] == most })
	c.Sessions = slices.Delete(c.Sessions, oldest, oldest+1)
}

// byCredential counts the sessions of each credential.
func (c *cluster) byCredential() map[string]int {
	sessions := map[string]int{}
	for i := range c.Sessions {
		sessions[c.Sessions[i].Credential]++
	}
	return sessions
}

// session returns the session of a search, and adds its results to Tools.
func (c *cluster) session(rec *searchRecord) session {
	s := session{Search: rec.id, At: rec.at, reporter: rec.reporter}
	at := map[int]int{} // position in Tools, by rank
	for rank := range rec.Shown {
		if rank < maxDepth || slices.Contains(rec.Used, rank) {
			at[rank] = c.show(&rec.Shown[rank])
			s.Shown = append(s.Shown, at[rank])
		}
	}
	positions := func(ranks []int) (out []int) {
		for _, rank := range ranks {
			if i, ok := at[rank]; ok {
				out = append(out, i)
			}
		}
		return out
	}
	s.acts, s.lift = rec.mapped(positions), rec.byClicks()
	return s
}

// show adds a result and returns its position in Tools. The features of a step, which belong
// to another text, do not replace the features of the whole query.
func (c *cluster) show(r *schema.Shown) int {
	i := slices.IndexFunc(c.Tools, func(tool clusterTool) bool { return tool.ID == r.ID && tool.Kind == r.Kind })
	if i < 0 {
		i = len(c.Tools)
		c.Tools = append(c.Tools, clusterTool{})
	} else if r.Step > 0 {
		return i
	}
	c.Tools[i] = clusterTool{ID: r.ID, Kind: r.Kind, Provider: r.Provider, Step: r.Step, Features: pack(example(*r).Features), Matches: r.Matches}
	return i
}

// A single use may be chance. Answers follow the uses of a tool once two credentials, or three
// sessions, agree.
const (
	enoughCredentials = 2
	enoughSessions    = 3
)

// confirmed reports whether enough users used a tool or, for negative evidence, saw it. It
// counts credentials, because a credential can invent any number of clients.
func (c *cluster) confirmed(tool int, good bool) bool {
	sessions, credentials := 0, map[string]bool{}
	for i := range c.Sessions {
		s := &c.Sessions[i]
		if slices.Contains(s.Used, tool) || !good && slices.Contains(s.Shown, tool) {
			sessions++
			credentials[s.Credential] = true
		}
		for _, earlier := range s.Earlier {
			if earlier == tool {
				sessions++
				credentials[s.Credential] = true
			}
		}
	}
	return len(credentials) >= enoughCredentials || sessions >= enoughSessions
}

// compact removes the tools that no session shows.
func (c *cluster) compact() {
	moved := make([]int, len(c.Tools)) // new position plus 1; 0: no session showed it
	for _, s := range c.Sessions {
		for _, i := range slices.Concat(s.Shown, s.Earlier) {
			moved[i] = 1
		}
	}
	var tools []clusterTool
	for i, tool := range c.Tools {
		if moved[i] > 0 {
			tools = append(tools, tool)
			moved[i] = len(tools)
		}
	}
	if len(tools) == len(c.Tools) {
		return
	}
	c.Tools = tools
	for _, s := range c.Sessions {
		for _, list := range [][]int{s.Shown, s.Used, s.Called, s.Succeeded, s.Rejected, s.Failed, s.Earlier} {
			for j, i := range list {
				list[j] = moved[i] - 1
			}
		}
	}
}
