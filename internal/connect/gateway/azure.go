package gateway

import (
	"context"
	"fmt"
	"net/url"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// Azure reads the APIs of an API Management service by Azure Resource Manager, and has each
// exported as OpenAPI (https://learn.microsoft.com/rest/api/apimanagement/apis, api-version
// 2022-08-01). The source has the address of the service:
// https://management.azure.com/subscriptions/…/providers/Microsoft.ApiManagement/service/NAME
type Azure struct{}

// azureVersion is the version of the management API.
const azureVersion = "2022-08-01"

// azureAPI is an API in a list.
type azureAPI struct {
	Name       string `json:"name"`
	Properties struct {
		Current bool   `json:"isCurrent"` // of several revisions one is
		Type    string `json:"type"`      // http, soap, websocket, graphql; absent: http
	} `json:"properties"`
}

// Connect implements source.Connector. Nothing is asked before the first list.
func (Azure) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	service, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	apis := with(service.JoinPath("apis"), "api-version", azureVersion)
	return polled(func(ctx context.Context, _ bool) (source.Listing, error) {
		r := newReader(at)
		all, err := listAzure(ctx, r, apis)
		if err != nil {
			return source.Listing{}, err
		}
		l := source.Listing{Several: true, Documents: make([]source.Document, len(all))}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(exports)
		for i, a := range all {
			g.Go(func() (err error) {
				l.Documents[i], err = exportAzure(ctx, r, apis, a)
				return err
			})
		}
		return l, g.Wait()
	}), nil
}

// exports is how many documents are read at once.
const exports = 8

// listAzure reads the current revisions of all APIs, page by page.
func listAzure(ctx context.Context, r *reader, apis *url.URL) ([]azureAPI, error) {
	var all []azureAPI
	for at := apis; ; {
		var page struct {
			Value []azureAPI `json:"value"`
			Next  string     `json:"nextLink"`
		}
		if _, err := r.page(ctx, at, &page); err != nil {
			return nil, err
		}
		if page.Value == nil {
			return nil, fmt.Errorf("%s is not a list of APIs of Azure", at.Redacted())
		}
		for _, a := range page.Value {
			if a.Properties.Current {
				all = append(all, a)
			}
		}
		if page.Next == "" {
			return all, nil
		}
		var err error
		if at, err = next(at, page.Next); err != nil {
			return nil, err
		}
	}
}

// exportAzure reads the document of an API: the export answers a link to it that is good
// for five minutes, on another host, which gets nothing except the link.
func exportAzure(ctx context.Context, r *reader, apis *url.URL, a azureAPI) (source.Document, error) {
	if t := a.Properties.Type; t != "" && t != "http" {
		return source.Document{Name: a.Name, Provider: a.Name, Problem: "an API of type " + t + " cannot be exported as OpenAPI"}, nil
	}
	var answer struct {
		Value      azureLink `json:"value"`
		Properties struct {
			Value azureLink `json:"value"`
		} `json:"properties"`
	}
	text, err := r.get(ctx, with(with(apis.JoinPath(a.Name), "export", "true"), "format", "openapi-link"), "application/json")
	if err == nil {
		err = r.at.Limits.Decode(text, &answer)
	}
	link := answer.Value.Link
	if link == "" {
		link = answer.Properties.Value.Link
	}
	if err == nil && link == "" {
		err = fmt.Errorf("the export of the API %s has no link", a.Name)
	}
	if err != nil {
		return source.Document{}, err
	}
	to, err := url.Parse(link)
	if err != nil {
		return source.Document{}, fmt.Errorf("the export of the API %s has no link: %w", a.Name, err)
	}
	raw, err := r.get(ctx, to, "*/*")
	return source.Document{Name: a.Name + ".yaml", Provider: a.Name, Raw: raw}, err
}

// azureLink is the value of an export.
type azureLink struct {
	Link string `json:"link"`
}
