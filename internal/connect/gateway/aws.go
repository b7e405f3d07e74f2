package gateway

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// AWS reads the REST and HTTP APIs of Amazon API Gateway in one region, and exports what
// each of their stages serves as OpenAPI
// (https://docs.aws.amazon.com/apigateway/latest/api/, and apigatewayv2/latest/api-reference).
// The address of the source names the region: https://apigateway.REGION.amazonaws.com
//
// If the address names a registry of AWS Agent Registry, AWS reads its approved records:
// https://agent-registry.REGION.api.aws/registries/ID
type AWS struct{}

// awsAPI is an API. Version 2 of the service uses different names.
type awsAPI struct {
	ID    string `json:"id"`
	APIID string `json:"apiId"`
	Name  string `json:"name"`
	Kind  string `json:"protocolType"` // of version 2: HTTP or WEBSOCKET
}

// awsStage is a stage of an API.
type awsStage struct {
	Name       string          `json:"stageName"`
	Deployment string          `json:"deploymentId"`
	Updated    json.RawMessage `json:"lastUpdatedDate"` // a number of seconds, or a time as text
}

// awsExport is an export of one stage of one API.
type awsExport struct {
	Provider string // below the source's
	Address  string
	Stamp    string // changes with the stage
}

// Connect implements source.Connector. Nothing is asked before the first list.
func (AWS) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	region, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(region.Path, "/registries/") {
		return registry(at, region), nil
	}
	var last []awsExport
	return polled(func(ctx context.Context, whole bool) (source.Listing, error) {
		r := newReader(at)
		all, err := listAWS(ctx, r, region)
		if err != nil {
			return source.Listing{}, err
		}
		if !whole && slices.Equal(all, last) {
			return source.Listing{Same: true}, nil
		}
		l := source.Listing{Several: true}
		for _, e := range all {
			address, err := url.Parse(e.Address)
			if err != nil {
				return source.Listing{}, err
			}
			raw, err := r.get(ctx, address, "application/json")
			if err != nil {
				return source.Listing{}, err
			}
			l.Documents = append(l.Documents, source.Document{Name: e.Provider, Provider: e.Provider, Raw: raw})
		}
		last = all
		return l, nil
	}), nil
}

// listAWS returns the exports. The service allows ten requests a second for an account, so
// requests are made one by one.
func listAWS(ctx context.Context, r *reader, region *url.URL) ([]awsExport, error) {
	rest, err := awsList[awsAPI](ctx, r, with(region.JoinPath("restapis"), "limit", "500"))
	if err != nil {
		return nil, err
	}
	http, err := awsList[awsAPI](ctx, r, with(region.JoinPath("v2/apis"), "maxResults", "500"))
	if err != nil {
		return nil, err
	}
	var all []awsExport
	apis := append(rest, http...)
	named := map[string]int{}
	for _, a := range apis {
		named[a.Name]++
	}
	for _, a := range apis {
		if a.Kind == "WEBSOCKET" { // which has no OpenAPI
			continue
		}
		id, at := a.ID, region.JoinPath("restapis", a.ID)
		if a.APIID != "" {
			id, at = a.APIID, region.JoinPath("v2/apis", a.APIID)
		}
		stages, err := awsList[awsStage](ctx, r, at.JoinPath("stages"))
		if err != nil {
			return nil, err
		}
		name := a.Name
		if named[name] > 1 { // names need not be unique, and ids are
			name += "-" + id
		}
		for _, s := range stages {
			export := at.JoinPath("stages", url.PathEscape(s.Name), "exports/oas30")
			if a.APIID != "" {
				export = with(with(at.JoinPath("exports/OAS30"), "outputType", "JSON"), "stageName", s.Name)
			}
			all = append(all, awsExport{name + "/" + s.Name, export.String(), s.Deployment + " " + string(s.Updated)})
		}
	}
	return all, nil
}

// awsList reads a whole list, page by page. Versions 1 and 2 of the service use different
// names.
func awsList[T any](ctx context.Context, r *reader, at *url.URL) (all []T, err error) {
	for {
		var page struct {
			Item      []T    `json:"item"`
			Position  string `json:"position"`
			Items     []T    `json:"items"`
			NextToken string `json:"nextToken"`
		}
		if _, err := r.page(ctx, at, &page); err != nil {
			return nil, err
		}
		all = append(append(all, page.Item...), page.Items...)
		switch {
		case page.Position != "":
			at = with(at, "position", page.Position)
		case page.NextToken != "":
			at = with(at, "nextToken", page.NextToken)
		default:
			return all, nil
		}
	}
}
