package weaviate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// page is how many objects are asked for at once.
const page = 500

// find asks for objects over gRPC.
func (c *Client) find(ctx context.Context, r *pb.SearchRequest) ([]*pb.SearchResult, error) {
	ctx, cancel := c.outgoing(ctx)
	defer cancel()
	r.Uses_127Api = true
	if r.Metadata == nil {
		r.Metadata = &pb.MetadataRequest{}
	}
	r.Metadata.Uuid = true
	ctx, span := asking(ctx, "search", r.Collection)
	if near := r.NearVector.GetTargets().GetTargetVectors(); len(near) > 0 && span.IsRecording() {
		span.SetAttributes(tracing.Field.String(near[0]))
	}
	reply, err := c.grpc.Search(ctx, r)
	tracing.End(span, err)
	if err != nil {
		return nil, fmt.Errorf("weaviate: search %s of %s: %w", r.Collection, r.Tenant, err)
	}
	return reply.GetResults(), nil
}

// heads returns what is stored of some entities of one tenant, by their ids.
func (i *Index) heads(ctx context.Context, tenant string, ids []string) (map[string]*stored, error) {
	out := make(map[string]*stored, len(ids))
	level := pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM
	for some := range slices.Chunk(ids, page) {
		found, err := i.client.find(ctx, &pb.SearchRequest{
			Collection: i.class, Tenant: tenant, Limit: uint32(len(some)), ConsistencyLevel: &level,
			Filters: anyOf("_id", some), Properties: &pb.PropertiesRequest{NonRefProperties: headProperties()},
		})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			s, err := decodeHead(tenant, r)
			if err != nil {
				return nil, err
			}
			out[r.GetMetadata().GetId()] = s
		}
	}
	return out, nil
}

// anyOf admits objects with one of the values in a property.
func anyOf(property string, values []string) *pb.Filters {
	return &pb.Filters{
		Operator:  pb.Filters_OPERATOR_CONTAINS_ANY,
		Target:    &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}},
		TestValue: &pb.Filters_ValueTextArray{ValueTextArray: &pb.TextArray{Values: values}},
	}
}

// Get returns the change that an entity's object was written from, without the
// raw document: whole for what is there, a delete for a tombstone. It reports
// false for what was never written.
func (i *Index) Get(ctx context.Context, ref schema.Ref) (events.Change, bool, error) {
	found, err := i.client.find(ctx, whole(&pb.SearchRequest{
		Collection: i.class, Tenant: ref.Tenant, Limit: 1, Filters: anyOf("_id", []string{idOf(ref)}),
	}))
	if err != nil || len(found) == 0 {
		if noTenant(err) {
			err = nil
		}
		return events.Change{}, false, err
	}
	s, err := decode(ref.Tenant, i.model, found[0])
	if err != nil {
		return events.Change{}, false, err
	}
	return s.change, true, nil
}

// Each calls fn with what Get returns for every entity of a tenant, in no order
// that means anything, until fn fails.
func (i *Index) Each(ctx context.Context, tenant string, fn func(events.Change) error) error {
	for after := ""; ; {
		found, err := i.client.find(ctx, whole(&pb.SearchRequest{Collection: i.class, Tenant: tenant, Limit: page, After: after}))
		if err != nil {
			if noTenant(err) {
				return nil
			}
			return err
		}
		for _, r := range found {
			after = r.GetMetadata().GetId()
			if isNote(r) {
				continue
			}
			s, err := decode(tenant, i.model, r)
			if err != nil {
				return err
			}
			if err := fn(s.change); err != nil {
				return err
			}
		}
		if len(found) < page {
			return nil
		}
	}
}

// whole lets a request return everything that decode reads.
func whole(r *pb.SearchRequest) *pb.SearchRequest {
	r.Properties = &pb.PropertiesRequest{ReturnAllNonrefProperties: true}
	r.Metadata = &pb.MetadataRequest{Vectors: vectorNames()}
	return r
}

// noTenant reports whether a search failed because nothing was ever written for
// its tenant. Weaviate says so in words alone.
func noTenant(err error) bool {
	return status.Code(err) == codes.Unknown && strings.Contains(err.Error(), "tenant not found")
}
