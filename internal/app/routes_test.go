package app

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/httpserver"
)

// operationsOf returns the ids of the operations that functions add.
func operationsOf(add ...func(huma.API)) (ids []string) {
	api, _ := httpserver.NewAPI("test")
	for _, routes := range add {
		routes(api)
	}
	for _, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Options} {
			if op != nil {
				ids = append(ids, op.OperationID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func TestWhatOtherProcessesServeIsPassedOnWhole(t *testing.T) {
	e := embeddedAs(t, "test")
	var served, passedOn []func(huma.API)
	for _, name := range Services() {
		if routes := e.routes[name]; routes != nil {
			served = append(served, routes)
		}
	}
	s := &Served{process: newProcess(config.Config{Peers: config.Peers{
		Ingest: "http://ingest", Query: "http://query", Trainer: "http://trainer",
	}}, nil, slog.New(slog.DiscardHandler), "test", naming{})}
	for _, p := range s.peers() {
		passedOn = append(passedOn, p.routes)
	}
	want, got := operationsOf(served...), operationsOf(passedOn...)
	if !slices.Equal(got, want) || !slices.Contains(got, "replace-pins") {
		t.Errorf("%q are passed on, of %q", got, want)
	}
}
