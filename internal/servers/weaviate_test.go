//go:build linux

package servers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/weaviate/weaviate-go-client/v4/weaviate"
	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
)

const (
	firstID  = "00000000-0000-4000-8000-000000000001"
	secondID = "00000000-0000-4000-8000-000000000002"
)

func TestWeaviateKeepsObjectsOverACrash(t *testing.T) {
	s := servertest.Start(t, servers.WeaviateName)
	ctx := bounded(t)
	createClass(t, ctx, s)
	put(t, ctx, s, firstID, "weather", []float32{1, 0, 0}, [][]float32{{1, 0}, {0, 1}})
	put(t, ctx, s, secondID, "mail", []float32{0, 1, 0}, [][]float32{{-1, 0}, {0, -1}})
	want := fmt.Sprint([]string{firstID, secondID})
	if got := fmt.Sprint(nearest(t, ctx, s, "text", 1, 0.1, 0)); got != want {
		t.Fatalf("before the crash: %v", got)
	}
	crash(t, ctx, s)
	if got := fmt.Sprint(nearest(t, ctx, s, "text", 1, 0.1, 0)); got != want {
		t.Fatalf("after the crash: %v", got)
	}
	if got := colbert(t, ctx, s, "[[1,0],[0,1]]"); got != "weather" {
		t.Fatalf("by several vectors after the crash: %q", got)
	}
	leavesNothing(t, ctx, s)
}

func TestWeaviateWritesToNoClassThatWasNotCreated(t *testing.T) {
	s := servertest.Start(t, servers.WeaviateName)
	status, _ := send(t, bounded(t), s, http.MethodPost, "/v1/objects", map[string]any{
		"class": "Typo", "properties": map[string]any{"name": "x"},
	})
	if status < 400 {
		t.Fatalf("the write was answered with %d", status)
	}
}

// createClass makes the class Tool1 with a vector and a list of vectors to each
// object, and its alias Tool.
func createClass(t *testing.T, ctx context.Context, s *servers.Server) {
	t.Helper()
	client, err := weaviate.NewClient(weaviate.Config{Scheme: "http", Host: s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	none := map[string]any{"none": map[string]any{}}
	err = client.Schema().ClassCreator().WithClass(&models.Class{
		Class:      "Tool1",
		Properties: []*models.Property{{Name: "name", DataType: []string{"text"}}},
		VectorConfig: map[string]models.VectorConfig{
			"text": {Vectorizer: none, VectorIndexType: "flat"},
			"parts": {Vectorizer: none, VectorIndexType: "hnsw", VectorIndexConfig: map[string]any{
				"multivector": map[string]any{"enabled": true, "aggregation": "maxSim"},
			}},
		},
	}).Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, ctx, s, http.MethodPost, "/v1/aliases", map[string]any{"alias": "Tool", "class": "Tool1"})
}

// put writes one object by itself: those of a batch may lose their vectors in a
// crash.
func put(t *testing.T, ctx context.Context, s *servers.Server, id, name string, text []float32, parts [][]float32) {
	t.Helper()
	ask(t, ctx, s, http.MethodPost, "/v1/objects", map[string]any{
		"class": "Tool1", "id": id, "properties": map[string]any{"name": name},
		"vectors": map[string]any{"text": text, "parts": parts},
	})
}

// nearest searches the alias by gRPC.
func nearest(t *testing.T, ctx context.Context, s *servers.Server, target string, query ...float32) []string {
	t.Helper()
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := pb.NewWeaviateClient(conn).Search(ctx, &pb.SearchRequest{
		Collection: "Tool", Limit: 2, Uses_127Api: true,
		Metadata:   &pb.MetadataRequest{Uuid: true},
		NearVector: &pb.NearVector{VectorBytes: littleEndian(query), Targets: &pb.Targets{TargetVectors: []string{target}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range reply.Results {
		ids = append(ids, r.Metadata.Id)
	}
	return ids
}

func littleEndian(vector []float32) []byte {
	var out []byte
	for _, x := range vector {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// colbert returns the name of the object whose list of vectors is nearest.
func colbert(t *testing.T, ctx context.Context, s *servers.Server, query string) string {
	t.Helper()
	text := ask(t, ctx, s, http.MethodPost, "/v1/graphql", map[string]any{"query": fmt.Sprintf(
		`{Get{Tool(limit:1 nearVector:{targetVectors:["parts"] vector:%s}){name}}}`, query)})
	var answer struct {
		Data struct {
			Get struct{ Tool []struct{ Name string } }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Data.Get.Tool) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	return answer.Data.Get.Tool[0].Name
}

func ask(t *testing.T, ctx context.Context, s *servers.Server, method, path string, body any) []byte {
	t.Helper()
	status, text := send(t, ctx, s, method, path, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

func send(t *testing.T, ctx context.Context, s *servers.Server, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}
