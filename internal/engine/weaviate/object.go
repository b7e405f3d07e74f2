package weaviate

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The properties of an object.
const (
	propKind      = "kind"
	propKey       = "key" // the id of the entity
	propProvider  = "provider"
	propTags      = "tags"
	propGrantable = "grantable" // names in the grants that match the entity
	propRevision  = "revision"  // a text: a float64 may not hold it
)

// The kinds of objects other than entities. There is one of each in a shard.
const (
	kindAnchor = "anchor"
	kindFence  = "fence"
)

// space is the namespace of ids (UUIDv5, RFC 9562): ours, so that no other rule
// gives the same ids.
var space = uuid.MustParse("b3c19a27-2f0e-5d53-9d0f-6b6e5f2f7a11")

// idOf returns the id of an entity's object. Neither tenant nor kind contains the separator.
func idOf(ref schema.Ref) string {
	return uuid.NewSHA1(space, []byte(ref.Tenant+"/"+string(ref.Kind)+"/"+ref.ID)).String()
}

// object returns an entity as it is written, its vectors changed by the mask.
func (i *Index) object(c *events.Change, mask uint32) (*pb.BatchObject, error) {
	o, err := i.bare(c.Ref, map[string]any{
		propKey: c.ID, propProvider: c.Provider, propRevision: strconv.FormatUint(c.Version.Revision, 10),
	})
	if err != nil {
		return nil, err
	}
	o.Vectors = encodeVectors(c.Vectors, mask)
	var tags []string
	if c.Document != nil && len(c.Document.Tags) > 0 {
		tags = c.Document.Tags
		o.Properties.TextArrayProperties = append(o.Properties.TextArrayProperties, &pb.TextArrayProperties{PropName: propTags, Values: tags})
	}
	tool := policy.ToolOf(c.Ref, c.Provider, c.From, tags)
	if names := tool.Names(); len(names) > 0 {
		o.Properties.TextArrayProperties = append(o.Properties.TextArrayProperties, &pb.TextArrayProperties{PropName: propGrantable, Values: names})
	}
	return o, nil
}

// anchor returns the object that has to be the first of a shard. The index of a list numbers its
// vectors, and a crash can leave edges to numbers without an object. A walk to such a number reads
// the vector of the shard's first object instead; if that object has no such list, every search
// that reaches it fails, for good (Weaviate 1.39). So the first object has a zero vector in every
// list, matches nothing, and never changes.
func (i *Index) anchor(tenant string) (*pb.BatchObject, error) {
	o, err := i.bare(schema.Ref{Tenant: tenant, Kind: kindAnchor}, map[string]any{})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{vectorExamples, vectorParameters} {
		o.Vectors = append(o.Vectors, listOf(name, i.model.Dimensions, [][]float32{nil}))
	}
	return o, nil
}

// bare returns an object without vectors.
func (i *Index) bare(ref schema.Ref, fields map[string]any) (*pb.BatchObject, error) {
	fields[propKind] = string(ref.Kind)
	properties, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("weaviate: properties of %s: %w", ref.ID, err)
	}
	return &pb.BatchObject{
		Uuid: idOf(ref), Collection: i.class, Tenant: ref.Tenant,
		Properties: &pb.BatchObject_Properties{NonRefProperties: properties},
	}, nil
}
