package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// watched is a kind in a version that the API serves.
type watched struct {
	kind
	version string
}

func (w watched) resource() schema.GroupVersionResource { return w.WithVersion(w.version) }

// discovery asks an API server for its resources. The answer is one document for all groups
// (Kubernetes 1.30 and newer), which is sent only if it has changed: the cached discovery of
// client-go has ETags only with a cache on disk.
type discovery struct {
	client *http.Client
	base   *url.URL

	etag   string
	groups []group
}

// group is a group of an API, with its versions in the order of preference
// (apidiscovery.k8s.io/v2).
type group struct {
	Metadata struct{ Name string }
	Versions []struct {
		Version   string
		Resources []struct {
			Resource string
			Verbs    []string
		}
	}
}

const groupsType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// served implements resources. A server that is not ready yet may lack parts of the API that
// others have added.
func (d *discovery) served(ctx context.Context, kinds []kind) ([]watched, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ready, err := d.get(ctx, "readyz")
	if err != nil {
		return nil, err
	}
	_ = ready.Body.Close() // it was not read
	answer, err := d.get(ctx, "apis")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		var list struct{ Items []group }
		text, err := io.ReadAll(io.LimitReader(answer.Body, int64(ofAList.Bytes)+1))
		if err == nil {
			err = jsondoc.Unmarshal(text, ofAList, &list)
		}
		if err != nil {
			return nil, fmt.Errorf("discovery: %w", err)
		}
		if len(list.Items) == 0 {
			return nil, fmt.Errorf("discovery: the server names no group of its API: Kubernetes 1.30 or newer is wanted")
		}
		d.groups, d.etag = list.Items, answer.Header.Get("ETag")
	}
	var out []watched
	for _, k := range kinds {
		if version := preferred(d.groups, k); version != "" {
			out = append(out, watched{k, version})
		}
	}
	return out, nil
}

// preferred returns the first version of a kind that can be watched, or "".
func preferred(groups []group, k kind) string {
	if k.Group == "" {
		return "v1" // of the core, which has no group
	}
	for _, g := range groups {
		if g.Metadata.Name != k.Group {
			continue
		}
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if r.Resource == k.Resource && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
					return v.Version
				}
			}
		}
	}
	return ""
}

// get asks for a path of the API. The status of its answer is 200 or 304.
func (d *discovery) get(ctx context.Context, at string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.JoinPath(at).String(), nil)
	if err != nil {
		return nil, err
	}
	if at == "apis" {
		req.Header.Set("Accept", groupsType)
		if d.etag != "" {
			req.Header.Set("If-None-Match", d.etag)
		}
	}
	answer, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotModified {
		_ = answer.Body.Close()
		return nil, refusal(answer.StatusCode, fmt.Errorf("the API server answers %s to /%s", answer.Status, at))
	}
	return answer, nil
}
