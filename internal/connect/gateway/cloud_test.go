package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/source"
)

const azureService = "/subscriptions/subid/resourceGroups/rg1/providers/Microsoft.ApiManagement/service/apimService1"

// azureAnswers has the members of the examples in Azure's REST API specifications
// (ApiManagementListApis.json and ApiManagementGetApiExportInOpenApi3dot0.json, 2022-08-01).
func azureAnswers() map[string]string {
	api := func(name, rest string) string {
		return fmt.Sprintf(`{"id":"%s/apis/%[2]s","type":"Microsoft.ApiManagement/service/apis","name":%[2]q,"properties":{"displayName":%[2]q,"apiRevision":"1",`+
			`"serviceUrl":"http://echoapi.cloudapp.net/api","path":%[2]q,"protocols":["https"]%s}}`, azureService, name, rest)
	}
	export := func(name, value string) string {
		return fmt.Sprintf(`{"id":"%s/apis/%s","format":"openapi-link",%s}`, azureService, name, value)
	}
	return map[string]string{
		azureService + "/apis?api-version=2022-08-01": `{"value":[` + api("a1", `,"isCurrent":true`) + `,` + api("a1;rev=2", `,"isCurrent":false`) + `],"count":4,` +
			`"nextLink":"BASE` + azureService + `/apis?api-version=2022-08-01&%24skip=2"}`,
		azureService + "/apis?api-version=2022-08-01&%24skip=2":                               `{"value":[` + api("aid9676", `,"isCurrent":true,"type":"http"`) + `,` + api("ws", `,"isCurrent":true,"type":"websocket"`) + `],"count":4,"nextLink":""}`,
		azureService + "/apis/a1?api-version=2022-08-01&export=true&format=openapi-link":      export("a1", `"value":{"link":"BASE/api-export/a1.yaml?sig=qqt"}`),
		azureService + "/apis/aid9676?api-version=2022-08-01&export=true&format=openapi-link": export("aid9676", `"properties":{"value":{"link":"BASE/api-export/aid9676.yaml?sig=qqt"}}`),
		"/api-export/a1.yaml?sig=qqt":                                                         "openapi: 3.0.1",
		"/api-export/aid9676.yaml?sig=qqt":                                                    "openapi: 3.0.2",
	}
}

func TestAzureExportsItsAPIs(t *testing.T) {
	s := serve(t, azureAnswers())
	wantLines(t, list(t, s.open(t, Azure{}, azureService, func(*source.Place) {})),
		"a1: openapi: 3.0.1", "aid9676: openapi: 3.0.2", "ws: an API of type websocket cannot be exported as OpenAPI")
	for name, change := range map[string]func(map[string]string){
		"the second page": func(a map[string]string) { a[azureService+"/apis?api-version=2022-08-01&%24skip=2"] = "500 " },
		"an export": func(a map[string]string) {
			delete(a, azureService+"/apis/a1?api-version=2022-08-01&export=true&format=openapi-link")
		},
		"a link":    func(a map[string]string) { delete(a, "/api-export/aid9676.yaml?sig=qqt") },
		"an answer": func(a map[string]string) { a[azureService+"/apis?api-version=2022-08-01"] = `{"error":{"code":"x"}}` },
		"the link is empty": func(a map[string]string) {
			a[azureService+"/apis/a1?api-version=2022-08-01&export=true&format=openapi-link"] = `{}`
		},
	} {
		answers := azureAnswers()
		change(answers)
		if l, err := serve(t, answers).open(t, Azure{}, azureService, func(*source.Place) {}).List(t.Context(), true); err == nil {
			t.Errorf("%s fails: %d documents", name, len(l.Documents))
		}
	}
}

// awsAnswers has the members that the references of API Gateway show.
func awsAnswers() map[string]string {
	return map[string]string{
		"/restapis?limit=500":                                              `{"item":[{"id":"o1y243m4f5","name":"pets","createdDate":1511298180,"apiKeySource":"HEADER"}],"position":"p 2"}`,
		"/restapis?limit=500&position=p+2":                                 `{"item":[{"id":"u5w3pplj0e","name":"shop","createdDate":1511298190},{"id":"n0thing","name":"unstaged"}]}`,
		"/restapis/o1y243m4f5/stages":                                      `{"item":[{"deploymentId":"i6k3rq","stageName":"prod","lastUpdatedDate":1511298200},{"deploymentId":"i6k3rq","stageName":"test","lastUpdatedDate":1511298201}]}`,
		"/restapis/u5w3pplj0e/stages":                                      `{"item":[{"deploymentId":"x","stageName":"v1","lastUpdatedDate":1}]}`,
		"/restapis/n0thing/stages":                                         `{"item":[]}`,
		"/v2/apis?maxResults=500":                                          `{"items":[{"apiId":"a1b2","name":"shop","protocolType":"HTTP"},{"apiId":"ws","name":"chat","protocolType":"WEBSOCKET"}]}`,
		"/v2/apis/a1b2/stages":                                             `{"items":[{"stageName":"$default","autoDeploy":true,"deploymentId":"y","lastUpdatedDate":"2026-11-20T10:00:00Z"}]}`,
		"/restapis/o1y243m4f5/stages/prod/exports/oas30":                   `{"openapi":"3.0.1","n":1}`,
		"/restapis/o1y243m4f5/stages/test/exports/oas30":                   `{"openapi":"3.0.1","n":2}`,
		"/restapis/u5w3pplj0e/stages/v1/exports/oas30":                     `{"openapi":"3.0.1","n":3}`,
		"/v2/apis/a1b2/exports/OAS30?outputType=JSON&stageName=%24default": `{"openapi":"3.0.1","n":4}`,
	}
}

func TestAWSExportsWhatItsStagesServe(t *testing.T) {
	s := serve(t, awsAnswers())
	session := s.open(t, AWS{}, "", func(*source.Place) {})
	wantLines(t, list(t, session), `pets/prod: {"openapi":"3.0.1","n":1}`, `pets/test: {"openapi":"3.0.1","n":2}`,
		`shop-u5w3pplj0e/v1: {"openapi":"3.0.1","n":3}`, `shop-a1b2/$default: {"openapi":"3.0.1","n":4}`)
	s.asked = nil
	if l, err := session.List(t.Context(), false); err != nil || !l.Same || strings.Contains(strings.Join(s.asked, " "), "exports") {
		t.Errorf("nothing was deployed: same %v, %v, asked for %q", l.Same, err, s.asked)
	}
	s.answers["/restapis/u5w3pplj0e/stages"] = `{"item":[{"deploymentId":"z","stageName":"v1","lastUpdatedDate":2}]}`
	delete(s.answers, "/restapis/u5w3pplj0e/stages/v1/exports/oas30")
	for range 2 { // which is not forgotten after a failure
		if l, err := session.List(t.Context(), false); err == nil {
			t.Errorf("an export fails: %+v", l)
		}
	}
	s.answers["/restapis/u5w3pplj0e/stages/v1/exports/oas30"] = `{"openapi":"3.0.1","n":5}`
	if l, err := session.List(t.Context(), false); err != nil || l.Same || len(l.Documents) != 4 {
		t.Errorf("after a deployment: %+v, %v", l, err)
	}
	for _, path := range []string{"/restapis?limit=500&position=p+2", "/v2/apis?maxResults=500", "/v2/apis/a1b2/stages"} {
		answers := awsAnswers()
		answers[path] = "503 "
		if l, err := serve(t, answers).open(t, AWS{}, "", func(*source.Place) {}).List(t.Context(), true); err == nil {
			t.Errorf("%s fails: %d documents", path, len(l.Documents))
		}
	}
}

// registryAnswers has the members of AWS Agent Registry's reference, version 2025-12-01.
func registryAnswers() map[string]string {
	summary := func(id, name, kind string) string {
		return fmt.Sprintf(`{"registryArn":"arn:aws:agent-registry:eu-west-1:123456789012:registry/abcdefghijkl","recordArn":"arn","recordId":%q,"name":%q,"displayName":"x",`+
			`"recordType":%q,"recordVersion":"1.0","status":"APPROVED","createdAt":"2026-10-01T00:00:00Z","updatedAt":"2026-10-02T00:00:00Z"`, id, name, kind)
	}
	record := func(id, name, kind, descriptors string) string {
		return summary(id, name, kind) + fmt.Sprintf(`,"descriptors":%s}`, descriptors)
	}
	return map[string]string{
		`/registries/abcdefghijkl/discoverable-records-list {"maxResults":100}`: `{"registryRecords":[` + summary("r1", "weather", "MCP") + `,"descriptorTypes":["mcpServer"]},` + summary("r2", "weather", "MCP") + `}],"nextToken":"t"}`,
		`/registries/abcdefghijkl/discoverable-records-list {"maxResults":100,"nextToken":"t"}`: `{"registryRecords":[` + summary("r3", "planner", "AGENT") + `},` +
			summary("r4", "pdf", "SKILL") + `},` + summary("r5", "local", "MCP") + `},` + summary("r6", "withdrawn", "MCP") + `}]}`,
		`/discoverable-records-batch {"entries":[{"recordIds":["r1","r2","r3","r4","r5","r6"],"registryId":"abcdefghijkl"}]}`: `{"registryRecords":[` +
			record("r1", "weather", "MCP", `{"mcpServer":{"data":"{\"name\":\"io.example/weather\",\"remotes\":[{\"type\":\"sse\",\"url\":\"https://w.example/sse\"},{\"type\":\"streamable-http\",\"url\":\"https://w.example/mcp\"}]}"}}`) + `,` +
			record("r2", "weather", "MCP", `{"mcpServer":{"data":"{}","additionalData":{"tools":{"data":"{\"tools\":[]}"}}}}`) + `,` +
			record("r3", "planner", "AGENT", `{"a2aAgentCard":{"data":"{\"name\":\"planner\"}"}}`) + `,` +
			record("r4", "pdf", "SKILL", `{"agentSkillsDefinition":{"additionalData":{"skillMd":{"data":"# Pdf"}}}}`) + `,` +
			record("r5", "local", "MCP", `{"mcpServer":{"data":"{\"packages\":[{}],\"remotes\":[{\"type\":\"sse\",\"url\":\"https://{host}/sse\"}]}"}}`) +
			`],"errors":[{"registryId":"abcdefghijkl","recordId":"r6","errorCode":"RESOURCE_NOT_FOUND"}]}`,
	}
}

func TestAWSListsTheApprovedRecordsOfARegistry(t *testing.T) {
	const path = "/registries/abcdefghijkl"
	s := serve(t, registryAnswers())
	session := s.open(t, AWS{}, path, func(*source.Place) {})
	wantLines(t, list(t, session), "weather-r1 mcp https://w.example/mcp", `weather-r2: {"tools":[]}`, `planner: {"name":"planner"}`, "pdf: # Pdf",
		"local: a record of type MCP that names neither a server nor tools")
	s.asked = nil
	if l, err := session.List(t.Context(), false); err != nil || !l.Same || len(s.asked) != 2 {
		t.Errorf("no record has changed: same %v, %v, asked for %q", l.Same, err, s.asked)
	}
	for name, change := range map[string]func(key, answer string) string{
		"the second page": func(key, answer string) string {
			return map[bool]string{true: "500 ", false: answer}[strings.Contains(key, "nextToken")]
		},
		"a record": func(_, answer string) string {
			return strings.Replace(answer, "RESOURCE_NOT_FOUND", "INTERNAL_ERROR", 1)
		},
		"records are left out": func(_, answer string) string { return strings.Replace(answer, `"errors":`, `"none":`, 1) },
		"tokens in a circle":   func(_, answer string) string { return strings.Replace(answer, `}]}`, `}],"nextToken":"t"}`, 1) },
	} {
		answers := registryAnswers()
		for key, answer := range answers {
			answers[key] = change(key, answer)
		}
		if l, err := serve(t, answers).open(t, AWS{}, path, func(*source.Place) {}).List(t.Context(), true); err == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
