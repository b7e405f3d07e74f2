package weaviate

import (
	"context"
	"fmt"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
)

// anchor writes the object that has to be the first of a shard, where it is
// missing. The index of a list gives each vector a number of its own and a crash
// can leave edges to numbers that it knows no object for. A walk that comes to
// one reads the vector of the shard's first object instead; if that one has no
// such list, every search that comes there fails, for good (Weaviate 1.39). So
// the first object has one zero vector in every list, is like nothing, and never
// changes.
func (i *Index) anchor(ctx context.Context, tenant string) error {
	there, err := i.client.find(ctx, &pb.SearchRequest{
		Collection: i.class, Tenant: tenant, Limit: 1, Filters: anyOf("_id", []string{noteID(tenant, kindAnchor)}),
	})
	if err != nil || len(there) > 0 {
		return err
	}
	o, err := i.note(tenant, kindAnchor, "")
	if err != nil {
		return err
	}
	for _, name := range vectorNames() {
		if isList(name) {
			o.Vectors = append(o.Vectors, listOf(name, i.model.Dimensions, [][]float32{nil}))
		}
	}
	if err := i.client.writeAll(ctx, []*pb.BatchObject{o}); err != nil {
		return fmt.Errorf("the first object of %s: %w", tenant, err)
	}
	return nil
}

// isNote reports whether an object is no entity.
func isNote(r *pb.SearchResult) bool {
	switch r.GetProperties().GetNonRefProps().GetFields()[propKind].GetTextValue() {
	case kindFence, kindAnchor, kindPositions:
		return true
	}
	return false
}
