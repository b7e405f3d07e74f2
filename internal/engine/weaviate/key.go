package weaviate

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// keyless removes the key from errors: a proxy in front of Weaviate may echo requests.
type keyless struct {
	next http.RoundTripper
	key  string
}

// hiddenKey replaces the key.
const hiddenKey = "(key)"

// maxError bounds the body of an error, in bytes.
const maxError = 64 << 10

// RoundTrip implements http.RoundTripper.
func (k keyless) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(r)
	if err != nil || resp.StatusCode < 300 || k.key == "" {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(k.key), []byte(hiddenKey))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// CloseIdleConnections is for http.Client.
func (k keyless) CloseIdleConnections() { (&http.Client{Transport: k.next}).CloseIdleConnections() }

// invoke is a grpc.UnaryClientInterceptor.
func (k keyless) invoke(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoker(ctx, method, req, reply, conn, opts...)
	if s, is := status.FromError(err); err != nil && is && k.key != "" && strings.Contains(s.Message(), k.key) {
		return status.Error(s.Code(), strings.ReplaceAll(s.Message(), k.key, hiddenKey))
	}
	return err
}
