package kube

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestRender(t *testing.T) {
	const text = `
# A comment of its own is no object.
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: "{{.Name}}", namespace: a}
spec:
  gatewayClassName: c
  listeners:
{{- range $i, $port := .Ports}}
  - {name: l{{$i}}, port: {{$port}}, protocol: HTTP}
{{- end}}
---
apiVersion: example.com/v1
kind: Unknown
metadata: {name: policy}
spec: {text: {{printf "%q" .Text}}}
`
	objects, err := Render("t", text, map[string]any{"Name": "gw", "Ports": []int{80, 81}, "Text": "a \"b\"\nc"})
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || Describe(objects[0]) != "gateway a/gw" || Describe(objects[1]) != "unknown policy" {
		t.Fatalf("got %v", objects)
	}
	if got := objects[1].Object["spec"].(map[string]any)["text"]; got != "a \"b\"\nc" {
		t.Errorf("quoted text came out as %q", got)
	}
}

func TestRenderIsStrict(t *testing.T) {
	gateway := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a}\n"
	cases := []struct{ name, text, want string }{
		{"a key that data lacks", gateway + "spec: {gatewayClassName: {{.Missing}}}", "Missing"},
		{"a field that the kind lacks", gateway + "spec: {gatewayClass: a}", "gatewayClass"},
		{"a key given twice", gateway + "spec: {}\nspec: {}", "spec"},
		{"no name", "apiVersion: v1\nkind: Service", "metadata.name"},
		{"no YAML", "{", "document 1"},
		{"no template", "{{", "parse"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Render("m", c.text, map[string]any{"Other": 1})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}

func TestOwn(t *testing.T) {
	var gw gatewayv1.Gateway
	gw.Labels = map[string]string{"app": "x"}
	Own(&gw, "r1", "t1")
	if !Owned(&gw) || gw.Labels["app"] != "x" || gw.Labels[RunLabel] != "r1" || gw.Labels[TrialLabel] != "t1" {
		t.Errorf("labels %v", gw.Labels)
	}
	if got := OwnedBy("", "").String(); got != "gatemark.dev/owner=gatemark" {
		t.Errorf("everything is selected by %q", got)
	}
}

// TestDecodeTakesFlowStyle: Helm hands its post-renderers objects like this.
func TestDecodeTakesFlowStyle(t *testing.T) {
	objects, err := Decode(strings.NewReader("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: b}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: c}, stringdata: {x: y}}\n"))
	if err == nil || !strings.Contains(err.Error(), "document 2 (secret c)") || !strings.Contains(err.Error(), "stringdata") {
		t.Errorf("%v, %v", objects, err)
	}
	objects, err = Decode(strings.NewReader("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: b}}"))
	if err != nil || len(objects) != 1 || objects[0].GetName() != "a" {
		t.Errorf("%v, %v", objects, err)
	}
}
