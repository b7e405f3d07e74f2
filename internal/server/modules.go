package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/bus/jetstream"
	"github.com/toolstream/toolstream/internal/bus/kafka"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/server/live"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/search"
)

// The services, by the names of their modules.
const (
	IngestService       = "ingest"
	StandardizerService = "standardizer"
	EmbedderService     = "embedder"
	QueryService        = "query"
	TrainerService      = "trainer"
)

// Services returns the names of all services, in the order of the flow.
func Services() []string {
	return []string{IngestService, StandardizerService, EmbedderService, QueryService, TrainerService}
}

// The modules, with the types of their values.
const (
	theTraces        key[*telemetry.Traces]    = "traces"
	theTransport     key[transport]            = "transport"
	theCredentials   key[credentials]          = "credentials"
	theMetricsSender key[none]                 = "metrics sender"
	theLimits        key[limits]               = "limits"
	theJetStream     key[*jetstream.Server]    = "jetstream"
	theKafka         key[*kafka.Bus]           = "kafka"
	theConn          key[*nats.Conn]           = "nats connection"
	theStore         key[*natsadapter.KV]      = "store"
	theFences        key[*tenants.Fences]      = "fences"
	theBus           key[*tenants.Bus]         = "bus"
	thePeers         key[peers]                = "peers"
	theAudit         key[auditLog]             = "audit log"
	theTopics        key[*topics]              = "topics"
	theWeaviate      key[*weaviate.Client]     = "weaviate"
	theLLM           key[*llm.Client]          = "language model"
	thePolicy        key[*policy.Store]        = "policy"
	theIndexes       key[*reindex.Manager]     = "index versions"
	theTrainerTurn   key[turn]                 = "trainer's turn"
	theTrainer       key[none]                 = TrainerService
	theDeadLetters   key[*deadletter.Store]    = "dead letters"
	theRevisions     key[*natsadapter.History] = "revisions"
	theAcceptance    key[*ingest.Service]      = "acceptance"
	theRepeats       key[none]                 = "repeats"
	theSourceShares  key[*sources.Shares]      = "source shares"
	theSources       key[*sources.Service]     = "sources"
	theRewriter      key[search.Rewriter]      = "rewriter"
	theWeights       key[weights]              = "weights"
	theSearch        key[*query.Service]       = "search"
	theCalls         key[*calls.Service]       = "calls"
	theDeployment    key[status.Deployment]    = "deployment"
	theStatus        key[*status.Reporter]     = "status"
	theLiveEvents    key[*live.Hub]            = "live events"
	theReplica       key[none]                 = "query replica"
	theQuery         key[none]                 = QueryService
	theEmbedder      key[none]                 = EmbedderService
	theRefresherTurn key[turn]                 = "refresher's turn"
	theStandardizer  key[none]                 = StandardizerService
	theTenantBuckets key[[]tenants.Bucket]     = "tenant buckets"
	theTenants       key[*tenants.Service]     = "tenants"
	theIngest        key[none]                 = IngestService
	theErasure       key[none]                 = "erasure"
	theHTTP          key[http.Handler]         = "http"
)

// table returns all modules. They are made, and start to run, in this order: consumers before
// producers. They stop and are closed in the opposite order, so telemetry is last. A module
// needs modules above it only. An optional module is missing if its row does not apply to the
// process.
func table() []module {
	return []module{
		row(theTraces, always, openTraces),
		row(theTransport, always, openTransport),
		row(theCredentials, always, openCredentials),
		row(theMetricsSender, always, openMetricsSender),
		row(theLimits, always, openLimits),

		row(theJetStream, embedded, openJetStream),
		row(theKafka, distributed, openKafka),
		row(theConn, embedded, embeddedConn, theJetStream),
		row(theConn, distributed, connectNATS),
		row(theStore, embedded, openEmbeddedStore, theConn),
		row(theStore, distributed, openStore, theConn),
		row(theFences, always, readFences, theStore),
		row(theBus, embedded, fenceJetStream, theJetStream, theFences),
		row(theBus, distributed, fenceKafka, theKafka, theFences),
		row(thePeers, distributed, discoverPeers, theConn, theFences),
		row(theAudit, answersCallers, openAudit, theBus, theConn),
		row(theTopics, createsTopics, createTopics, theKafka), // the modules below start once they exist

		row(theWeaviate, usesWeaviate, openWeaviate),
		row(theLLM, usesLLM, openLLM),
		row(thePolicy, authenticates, openPolicy, theStore), // above the indexes, so that an erased tenant's tools go before its grants: without grants every caller finds them
		row(theIndexes, always, openIndexes, theBus, theConn, theStore, theTraces, optional{thePeers}, optional{theWeaviate}),

		row(theTrainerTurn, embedded, alone),
		row(theTrainerTurn, distributed, openTrainerTurn, theStore),
		row(theTrainer, always, openTrainer, theBus, theStore, theTraces, theAudit, theIndexes, theTrainerTurn),

		row(theDeadLetters, always, openDeadLetters, theBus),
		row(theRevisions, always, openRevisions, theConn),
		row(theAcceptance, runs(IngestService), openAcceptance, theBus, theLimits),
		row(theRepeats, distributed, answerRepeats, theConn, theAcceptance),
		row(theSourceShares, distributed, openSourceShares, theConn),
		row(theSources, runs(IngestService), openSources, theConn, theLimits, theAcceptance, optional{theSourceShares}),
		row(theSources, runsWithout(IngestService), watchSources, theConn),

		row(theRewriter, rewrites, openRewriter, theConn, theFences, theLLM, theIndexes),
		row(theWeights, embedded, storedWeights, theStore),
		row(theWeights, distributed, openWeightsCache, theStore),
		row(theSearch, always, openSearch, theBus, theStore, theFences, theIndexes, theDeadLetters, theRevisions, theWeights, optional{thePolicy}, optional{theRewriter}),
		row(theCalls, always, openCalls, theConn, theSearch, theSources, optional{thePolicy}),
		row(theDeployment, embedded, describeEmbedded, theJetStream),
		row(theDeployment, distributed, describeDistributed, theKafka, theConn, thePeers, theTransport, optional{theTopics}, optional{theWeaviate}),
		row(theStatus, always, openStatus, theBus, theIndexes, theSearch, theDeadLetters, theSources, theDeployment, optional{theLLM}),
		row(theLiveEvents, always, openLiveEvents, theFences, theIndexes, theSearch, theDeadLetters, theSources, theStatus, optional{thePolicy}),
		row(theReplica, distributed, openReplica, theConn, theTraces, theLimits, theIndexes, theSearch),
		row(theQuery, always, openQuery, theStore, theLimits, theAudit, theIndexes, theSearch, theCalls, theStatus, theLiveEvents, optional{thePolicy}, optional{theReplica}),

		row(theEmbedder, embedded, nothing, theIndexes), // which embed documents and queries
		row(theEmbedder, distributed, openEmbedder, theConn, theTraces, theLimits, theIndexes),
		row(theRefresherTurn, embedded, alone),
		row(theRefresherTurn, distributed, openRefresherTurn, theStore),
		row(theStandardizer, always, openStandardizer, theBus, theConn, theStore, theFences, theTraces, theRefresherTurn, optional{theLLM}),

		row(theTenantBuckets, always, openTenantBuckets, theConn),
		row(theTenants, always, openTenants, theBus, theStore, theFences, theTenantBuckets, theRevisions, theAcceptance, theSources, optional{thePeers}, optional{theWeaviate}),
		row(theIngest, always, openIngest, theBus, theAudit, theDeadLetters, theRevisions, theAcceptance, theSources, theTenants, optional{theRepeats}, optional{theJetStream}),

		row(theErasure, always, eraseTenants, theStore, theFences),
		row(theHTTP, always, openHTTP, theTraces, theTransport, theCredentials, theLimits, theFences, optional{theAudit}),
	}
}

// everyProcess names the modules of each process, whatever services it runs.
var everyProcess = []fmt.Stringer{theMetricsSender, optional{thePeers}, optional{theTopics}, theErasure, theHTTP}

// Predicates for the processes of a row.
func always(*Process) bool        { return true }
func embedded(p *Process) bool    { return !p.distributed }
func distributed(p *Process) bool { return p.distributed }

func runs(service string) func(*Process) bool {
	return func(p *Process) bool { return p.runs(service) }
}

func runsWithout(service string) func(*Process) bool {
	return func(p *Process) bool { return !p.runs(service) }
}

func answersCallers(p *Process) bool { return p.runs(IngestService, QueryService, TrainerService) }
func createsTopics(p *Process) bool  { return p.distributed && p.cfg.Kafka.Apply }
func usesWeaviate(p *Process) bool   { return p.distributed && p.cfg.Weaviate.URL != "" }
func usesLLM(p *Process) bool        { return p.cfg.LLM.BaseURL != "" }
func rewrites(p *Process) bool       { return usesLLM(p) && p.cfg.LLM.Rewrites() }
func authenticates(p *Process) bool  { return !p.cfg.Auth.Open() }

// A module is a row of the table.
type module struct {
	name    string
	applies func(*Process) bool
	needs   []fmt.Stringer // keys
	make    func(context.Context, *Process) (any, error)
}

func row[T any](k key[T], applies func(*Process) bool, open func(context.Context, *Process) (T, error), needs ...fmt.Stringer) module {
	return module{string(k), applies, needs, func(ctx context.Context, p *Process) (any, error) { return open(ctx, p) }}
}

// A key names a module that makes a T.
type key[T any] string

// String returns the name.
func (k key[T]) String() string { return string(k) }

// get returns the output of the module: the zero value if the process does not have the module. A
// module gets only the needs that its row declares.
func (k key[T]) get(p *Process) T {
	if p.making != nil && !slices.ContainsFunc(p.making.needs, func(need fmt.Stringer) bool { return need.String() == string(k) }) {
		panic(fmt.Sprintf("the row of the module %q does not say that it needs %q", p.making.name, k))
	}
	made, _ := p.made[string(k)].(T)
	return made
}

// none is the value of a module that only runs.
type none struct{}

func nothing(context.Context, *Process) (none, error) { return none{}, nil }

// optional marks a need that a module can do without.
type optional struct{ fmt.Stringer }

// choose returns the modules of a process in the order of the table: the modules of every process
// and of its services, and all modules that these need.
func choose(p *Process) ([]module, error) {
	needed := map[string]bool{} // whether a process cannot do without
	need := func(keys []fmt.Stringer) {
		for _, k := range keys {
			_, can := k.(optional)
			needed[k.String()] = needed[k.String()] || !can
		}
	}
	need(everyProcess)
	for _, name := range p.services {
		needed[name] = true
	}
	var chosen []module
	for _, m := range slices.Backward(table()) {
		if _, ok := needed[m.name]; ok && m.applies(p) {
			need(m.needs)
			delete(needed, m.name)
			chosen = append(chosen, m)
		}
	}
	for name, must := range needed {
		if must {
			return nil, fmt.Errorf("the modules of %v need %q, which no row above them makes", p.services, name)
		}
	}
	slices.Reverse(chosen)
	return chosen, nil
}
