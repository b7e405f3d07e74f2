package weaviate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The properties of an object. Numbers that a float64 may not hold are texts.
const (
	propKind     = "kind"
	propKey      = "key" // the id of the entity
	propAgent    = "agent"
	propTags     = "tags"
	propRevision = "revision" // and edition, see revisionText
	propSource   = "source"
	propDeleted  = "deleted"
	propSession  = "session" // of the writer, see Index
	propNudged   = "nudged"  // whether the first bit of the vectors is flipped: of earlier releases, see readSession
	propAccepted = "accepted"
	propFormat   = "format"
	propHash     = "hash"
	propDocument = "document" // standardized, as JSON
)

// space is the namespace of ids (UUIDv5, RFC 9562): ours, so that nobody else's
// rule gives the same ones.
var space = uuid.MustParse("b3c19a27-2f0e-5d53-9d0f-6b6e5f2f7a11")

// idOf returns the id of an entity's object. Neither tenant nor kind holds what
// separates them.
func idOf(ref schema.Ref) string {
	return uuid.NewSHA1(space, []byte(ref.Tenant+"/"+string(ref.Kind)+"/"+ref.ID)).String()
}

// stored is an entity as an object holds it.
type stored struct {
	change  events.Change
	session session
	rewrite bool // of what another session left
}

// object returns the entity as it is written.
func (s *stored) object(class string) (*pb.BatchObject, error) {
	c := &s.change
	fields := map[string]any{
		propKind: string(c.Kind), propKey: c.ID, propSession: s.session.String(),
		propRevision: revisionText(c.Version), propSource: strconv.FormatUint(c.Source, 10),
		propAccepted: c.Accepted.UTC().Format(time.RFC3339Nano), propDeleted: c.Op == events.OpDelete,
	}
	o := &pb.BatchObject{Uuid: idOf(c.Ref), Collection: class, Tenant: c.Tenant, Properties: &pb.BatchObject_Properties{}}
	if c.Op == events.OpUpsert {
		document, err := json.Marshal(c.Document)
		if err != nil {
			return nil, fmt.Errorf("weaviate: document of %s: %w", c.ID, err)
		}
		fields[propAgent], fields[propFormat], fields[propHash], fields[propDocument] = c.Agent, c.Format, c.Hash, string(document)
		o.Vectors = encodeVectors(c.Vectors, s.session.mask)
		o.Properties.TextArrayProperties = tags(c.Document.Tags)
	}
	properties, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("weaviate: properties of %s: %w", c.ID, err)
	}
	o.Properties.NonRefProperties = properties
	return o, nil
}

func tags(values []string) []*pb.TextArrayProperties {
	if len(values) == 0 {
		return nil
	}
	return []*pb.TextArrayProperties{{PropName: propTags, Values: values}}
}

// decode reads an object with all its properties and vectors.
func decode(tenant string, m Model, r *pb.SearchResult) (*stored, error) {
	s, err := decodeHead(tenant, r)
	if err != nil {
		return nil, err
	}
	c, f := &s.change, r.GetProperties().GetNonRefProps().GetFields()
	if c.Accepted, err = time.Parse(time.RFC3339Nano, f[propAccepted].GetTextValue()); err != nil {
		return nil, fmt.Errorf("weaviate: object of %s: %w", c.ID, err)
	}
	if c.Op == events.OpDelete {
		return s, nil
	}
	c.Agent, c.Format, c.Hash = f[propAgent].GetTextValue(), f[propFormat].GetTextValue(), f[propHash].GetTextValue()
	c.Document = &schema.Document{}
	if err := json.Unmarshal([]byte(f[propDocument].GetTextValue()), c.Document); err != nil {
		return nil, fmt.Errorf("weaviate: document of %s: %w", c.ID, err)
	}
	c.Vectors = &events.Vectors{Model: m.Name, Dimensions: m.Dimensions}
	return s, decodeVectors(c.Vectors, r.GetMetadata().GetVectors(), s.session.mask)
}

// headProperties is what decodeHead reads.
func headProperties() []string {
	return []string{propKind, propKey, propRevision, propSource, propDeleted, propSession, propNudged}
}

// decodeHead reads what decides whether an object is written again.
func decodeHead(tenant string, r *pb.SearchResult) (*stored, error) {
	f := r.GetProperties().GetNonRefProps().GetFields()
	s := &stored{}
	c := &s.change
	c.Schema, c.Op = events.ChangeSchema, events.OpUpsert
	c.Ref = schema.Ref{Tenant: tenant, Kind: schema.Kind(f[propKind].GetTextValue()), ID: f[propKey].GetTextValue()}
	if f[propDeleted].GetBoolValue() {
		c.Op = events.OpDelete
	}
	var err error
	if s.session, err = readSession(f[propSession].GetTextValue(), f[propNudged].GetBoolValue()); err != nil {
		return nil, fmt.Errorf("weaviate: session of %s: %w", c.ID, err)
	}
	if err = readRevision(&c.Version, f[propRevision].GetTextValue()); err != nil {
		return nil, fmt.Errorf("weaviate: revision of %s: %w", c.ID, err)
	}
	if c.Source, err = strconv.ParseUint(f[propSource].GetTextValue(), 10, 64); err != nil {
		return nil, fmt.Errorf("weaviate: source version of %s: %w", c.ID, err)
	}
	return s, nil
}

// revisionText returns revision and, where there is one, edition: "7", "7.3".
// Collections that were made before there were editions hold both.
func revisionText(v schema.Version) string {
	s := strconv.FormatUint(v.Revision, 10)
	if v.Edition != 0 {
		s += "." + strconv.FormatUint(v.Edition, 10)
	}
	return s
}

// readRevision reads what revisionText wrote.
func readRevision(v *schema.Version, s string) (err error) {
	revision, edition, some := strings.Cut(s, ".")
	if v.Revision, err = strconv.ParseUint(revision, 10, 64); err == nil && some {
		v.Edition, err = strconv.ParseUint(edition, 10, 64)
	}
	return err
}
