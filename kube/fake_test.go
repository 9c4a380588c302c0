package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube/fakeapi"
)

func startFake(t *testing.T) (*fakeapi.Server, *Client) {
	t.Helper()
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), Name: "namespaces"},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Name: "services", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Name: "endpointslices", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), Name: "customresourcedefinitions"},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("GatewayClass"), Name: "gatewayclasses"},
	)
	c, err := New(t.Context(), server.Config(), Patience(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}
