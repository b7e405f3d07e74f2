package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
)

// CheckBucket reads the newest value of every key of a bucket of small values that
// lies on the bus, if there is one. A value that is damaged would hold up whoever
// watches the bucket, for ever and without a word: it is a permanent error,
// stream.ReasonLost.
func (s *Server) CheckBucket(ctx context.Context, bucket string) error {
	if err := s.readable(ctx, bucket); err != nil {
		return stream.Permanent(stream.ReasonLost, fmt.Errorf("jetstream: bucket %s: %w", bucket, err))
	}
	return nil
}

func (s *Server) readable(ctx context.Context, bucket string) error {
	values, err := s.js.Stream(ctx, "KV_"+bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := values.Info(ctx, jetstream.WithSubjectFilter("$KV."+bucket+".>"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if _, err := values.GetLastMsgForSubject(ctx, subject); err != nil {
			return fmt.Errorf("the value of %s can not be read: %w", strings.TrimPrefix(subject, "$KV."+bucket+"."), err)
		}
	}
	return nil
}
