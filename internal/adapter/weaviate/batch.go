package weaviate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/tracing"
)

// refusal is an object that a batch did not take.
type refusal struct {
	at     int
	reason string
}

// asking begins the span of a call over gRPC.
func asking(ctx context.Context, operation, class string) (context.Context, trace.Span) {
	ctx, span := tracing.Ask(ctx, "weaviate "+operation)
	if span.IsRecording() {
		span.SetAttributes(semconv.DBSystemNameKey.String("weaviate"), semconv.DBOperationName(operation), semconv.DBCollectionName(class))
	}
	return ctx, span
}

// write sends one batch and returns what of it was not taken. The answer of a
// batch is a success whatever became of its objects.
func (c *Client) write(ctx context.Context, objects []*pb.BatchObject) ([]refusal, error) {
	ctx, cancel := c.outgoing(ctx)
	defer cancel()
	level := pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM
	ctx, span := asking(ctx, "write", objects[0].GetCollection())
	span.SetAttributes(semconv.DBOperationBatchSize(len(objects)))
	reply, err := c.grpc.BatchObjects(ctx, &pb.BatchObjectsRequest{Objects: objects, ConsistencyLevel: &level})
	tracing.End(span, err)
	if err != nil {
		return nil, fmt.Errorf("weaviate: write %d objects: %w", len(objects), err)
	}
	var refused []refusal
	for _, e := range reply.GetErrors() {
		at := int(e.GetIndex())
		if at < 0 || at >= len(objects) {
			return nil, fmt.Errorf("weaviate: write %d objects: object %d failed: %s", len(objects), at, e.GetError())
		}
		refused = append(refused, refusal{at, e.GetError()})
	}
	return refused, nil
}

// writeAll is write for objects that nothing can be wrong with.
func (c *Client) writeAll(ctx context.Context, objects []*pb.BatchObject) error {
	refused, err := c.write(ctx, objects)
	if err != nil || len(refused) == 0 {
		return err
	}
	r := refused[0]
	return fmt.Errorf("weaviate: object %s of tenant %s: %s", objects[r.at].Uuid, objects[r.at].Tenant, r.reason)
}

// passing reports whether a refusal speaks of the server and not of the object.
// Answers of a batch are texts without a code.
func passing(reason string) bool {
	reason = strings.ToLower(reason)
	for _, sign := range []string{
		"context", "deadline", "timeout", "memory", "read-only", "read only", "readonly", "shut", "unavailable", "connection", "not ready", "no space",
	} {
		if strings.Contains(reason, sign) {
			return true
		}
	}
	return false
}

// parallel calls fn for 0 to n-1, up to limit at once, and returns what failed.
// After a failure no further call begins.
func parallel(n, limit int, fn func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	var failed sync.Once
	stop := make(chan struct{})
	slots := make(chan struct{}, limit)
	for i := range n {
		slots <- struct{}{}
		select {
		case <-stop:
			<-slots
			continue
		default:
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = fn(i); errs[i] != nil {
				failed.Do(func() { close(stop) })
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
