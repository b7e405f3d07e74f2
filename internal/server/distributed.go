package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/bus/kafka"
	"github.com/toolstream/toolstream/internal/bus/localkv"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
	learned "github.com/toolstream/toolstream/services/query/weights"
)

// openKafka makes no call: the cluster may be away.
func openKafka(_ context.Context, p *Process) (*kafka.Bus, error) {
	bus, err := kafka.New(KafkaConfig(p.cfg.Kafka), kafka.Deps{Logger: p.log, Registerer: p.metrics})
	if err != nil {
		return nil, config.Wrong{Err: err}
	}
	p.closers = append(p.closers, bus.Close)
	// A query replica that has caught up goes on without: searches come first.
	if p.runs(IngestService, StandardizerService, EmbedderService, TrainerService) {
		p.ready = append(p.ready, (&status.HealthCheck{Name: "Kafka", Ask: bus.Ready}).Ready)
	}
	return bus, nil
}

// KafkaConfig returns the settings as the bus takes them.
func KafkaConfig(k config.Kafka) kafka.Config {
	cfg := kafka.Config{
		Prefix: k.Prefix, Partitions: k.Partitions, Replication: k.Replication, Session: k.Session, Managed: !k.Apply,
		TLS:  kafka.TLS{Enabled: k.TLS, CA: k.CAFile, Cert: k.CertFile, Key: k.KeyFile},
		SASL: kafka.SASL{Mechanism: strings.TrimPrefix(k.SASL, "none"), Username: k.Username, Password: k.Password},
	}
	for broker := range strings.SplitSeq(k.Brokers, ",") {
		cfg.Brokers = append(cfg.Brokers, strings.TrimSpace(broker))
	}
	return cfg
}

func fenceKafka(_ context.Context, p *Process) (*tenants.Bus, error) {
	return tenants.NewBus(theKafka.get(p), theFences.get(p)), nil
}

// connectNATS connects to NATS, which may be away: searches go on without.
func connectNATS(_ context.Context, p *Process) (*nats.Conn, error) {
	n := p.cfg.NATS
	conn, err := natsadapter.Connect(natsadapter.ConnectConfig{
		URL: n.URL, Name: "toolstream " + strings.Join(p.services, " "), Token: n.Token,
		CredentialsFile: n.CredentialsFile, SeedFile: n.NKeyFile,
		CAFile: n.CAFile, CertFile: n.CertFile, KeyFile: n.KeyFile,
	}, p.log)
	if err == nil {
		p.closers = append(p.closers, func(ctx context.Context) error { return natsadapter.Drain(ctx, conn) })
	}
	return conn, err
}

func openWeaviate(_ context.Context, p *Process) (*weaviate.Client, error) {
	w := p.cfg.Weaviate
	client, err := weaviate.New(weaviate.Config{URL: w.URL, GRPC: w.GRPC, APIKey: w.APIKey, Alias: w.Alias})
	if err == nil {
		p.closes(client)
	}
	return client, err
}

// weightsFile has the weights and usage that a query replica knows.
const weightsFile = "snapshot"

// openWeightsCache keeps weights and usage in the data folder: a replica that starts while
// NATS is away goes on with the last ones.
func openWeightsCache(_ context.Context, p *Process) (weights, error) {
	file, err := localkv.Open(filepath.Join(p.cfg.Data, weightsFile), p.log)
	if err != nil {
		return weights{}, err
	}
	p.closes(file)
	cache := localkv.NewCache(localkv.CacheDeps{Source: theStore.get(p), Store: file, Logger: p.log, Usable: learned.Usable})
	p.erases(func(_ context.Context, f tenants.Fence) error {
		return cache.Erase(func(key string) bool { tenant, _ := tenantOfWeights(key); return tenant == f.Tenant })
	})
	return weights{cache, cache.Stale}, nil
}

// Keys of the leases of the working trainer and the working standardizer.
const (
	trainerLeaseKey   = "trainer.lease"
	refresherLeaseKey = "refresher.lease"
)

// Files with the name of a data folder among its peers.
const (
	trainerNameFile = "trainer.name"
	shareNameFile   = "sources.name"
)

// openTrainerTurn takes the lease in the name of the data folder, which one process has open at
// a time, so that a trainer that was killed goes on at once.
func openTrainerTurn(_ context.Context, p *Process) (turn, error) {
	name, err := folderName(p.cfg.Data, trainerNameFile)
	if err != nil {
		return nil, err
	}
	l := stream.NewLease(trainerLeaseKey, name, theStore.get(p), p.log)
	p.ready = append(p.ready, l.StandsBy)
	return l, nil
}

func openRefresherTurn(_ context.Context, p *Process) (turn, error) {
	return stream.NewLease(refresherLeaseKey, rand.Text(), theStore.get(p), p.log), nil
}

// openSourceShares divides sources among the processes that serve ingest.
func openSourceShares(_ context.Context, p *Process) (*sources.Shares, error) {
	name, err := folderName(p.cfg.Data, shareNameFile)
	if err != nil {
		return nil, err
	}
	leases, err := natsadapter.NewKV(p.bucket(sourcesBucket), theConn.get(p))
	if err != nil {
		return nil, err
	}
	bucket := p.bucket("source_members")
	bucket.TTL = sources.MemberTTL
	members, err := natsadapter.NewKV(bucket, theConn.get(p))
	return &sources.Shares{Name: name, Members: members, Leases: leases, Logger: p.log}, err
}

// folderName reads the name in a file of a data folder, or makes up a name and writes it.
func folderName(folder, file string) (string, error) {
	path := filepath.Join(folder, file)
	name, err := os.ReadFile(path)
	if len(name) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		name = []byte(rand.Text())
		err = files.Write(path, name, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("name of the data folder: %w", err)
	}
	return string(name), nil
}

// peers asks the other processes of the deployment. The zero value is for a process without.
type peers struct {
	processes func(ctx context.Context, tenant string) []status.Process
	unfenced  func(context.Context, tenants.Fence) (addresses []string, err error) // that do not obey a fence yet
}

// fenceTimeout is how long to wait for one more answer about a fence.
const fenceTimeout = 500 * time.Millisecond

// discoverPeers also answers the questions of peers.
func discoverPeers(_ context.Context, p *Process) (peers, error) {
	conn, fences := theConn.get(p), theFences.get(p)
	processes := natsadapter.NewScatterGather(conn, p.subject("processes"), func(tenant []byte) []byte {
		d := status.Process{Services: p.services, Address: p.URL(), Version: p.version, Started: p.started}
		d.AskReady(p.whyNotReady)
		for _, describe := range p.describe {
			describe(string(tenant), &d)
		}
		raw, _ := json.Marshal(d) // texts and numbers always encode
		return raw
	})
	p.starts("peer discovery", processes.Run)

	type answer struct {
		Address string `json:"address"`
		Obeys   bool   `json:"obeys"`
	}
	erased := natsadapter.NewScatterGather(conn, p.subject("erased"), func(request []byte) []byte {
		var f tenants.Fence
		obeys := json.Unmarshal(request, &f) == nil && fences.Obeys(f)
		raw, _ := json.Marshal(answer{p.URL(), obeys})
		return raw
	})
	p.starts("erased tenants of peers", erased.Run)

	return peers{
		processes: func(ctx context.Context, tenant string) []status.Process {
			answers, err := processes.Ask(ctx, []byte(tenant), status.PeerTimeout)
			if err != nil {
				return nil // NATS is away, as the status reports
			}
			return status.Processes(answers)
		},
		unfenced: func(ctx context.Context, f tenants.Fence) (addresses []string, err error) {
			request, err := json.Marshal(f)
			if err != nil {
				return nil, err
			}
			answers, err := erased.Ask(ctx, request, fenceTimeout)
			for _, raw := range answers {
				var a answer
				if json.Unmarshal(raw, &a) == nil && !a.Obeys {
					addresses = append(addresses, a.Address)
				}
			}
			return addresses, err
		},
	}, nil
}

// describeDistributed describes the servers and services of other processes for the status.
func describeDistributed(_ context.Context, p *Process) (status.Deployment, error) {
	conn := theConn.get(p)
	d := status.Deployment{
		Mode: status.ModeDistributed, Processes: thePeers.get(p).processes,
		BusDamage: func() error { return nil }, Topics: theTopics.get(p).found,
		Checks: []status.Check{
			{Name: "Kafka", Address: p.cfg.Kafka.Brokers, Setting: "kafka.brokers", Ask: theKafka.get(p).Ready},
			{Name: "NATS", Address: status.Address(p.cfg.NATS.URL), Setting: "nats.url", Ask: func(context.Context) error {
				err := natsadapter.LastError(conn)
				switch {
				case conn.IsConnected():
					return nil
				case err != nil:
					return fmt.Errorf("no connection: %w", err)
				}
				return errors.New("no connection")
			}},
		},
	}
	if client := theWeaviate.get(p); client != nil {
		d.Checks = append(d.Checks, status.Check{Name: "Weaviate", Address: status.Address(p.cfg.Weaviate.URL), Setting: "weaviate.url", Ask: client.Ready})
	}
	client := &http.Client{Transport: theTransport.get(p).peers}
	for _, peer := range p.forwards() {
		d.Checks = append(d.Checks, status.Check{Name: peer.name, Address: status.Address(peer.address), Setting: "peers." + peer.name, Ask: func(ctx context.Context) error {
			return status.PeerReady(ctx, client, peer.address)
		}})
	}
	return d, nil
}

// forward is a service in another process that gets requests from this one.
type forward struct {
	name, address string
	routes        func(huma.API)
}

// forwards returns the services of the settings that other processes run.
func (p *Process) forwards() []forward {
	all := []forward{
		{IngestService, p.cfg.Peers.Ingest, ingestAPI{}.routes},
		{QueryService, p.cfg.Peers.Query, queryAPI{search: &query.Service{}}.routes},
		{TrainerService, p.cfg.Peers.Trainer, trainerRoutes(nil)},
	}
	return slices.DeleteFunc(all, func(f forward) bool { return !p.distributed || p.runs(f.name) || f.address == "" })
}
