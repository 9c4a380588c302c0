package loadbalancer

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

func service(name string, change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	if change != nil {
		change(s)
	}
	return s
}

func start(t *testing.T, prefix string, objects ...runtime.Object) kubernetes.Interface {
	t.Helper()
	client := fake.NewClientset(objects...)
	if err := Start(t.Context(), client, prefix); err != nil {
		t.Fatal(err)
	}
	return client
}

func create(t *testing.T, client kubernetes.Interface, s *corev1.Service) {
	t.Helper()
	if _, err := client.CoreV1().Services(s.Namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func address(t *testing.T, client kubernetes.Interface, name string) string {
	t.Helper()
	s, err := client.CoreV1().Services("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ip := currentIP(s); ip.IsValid() {
		return ip.String()
	}
	return ""
}

// want waits until a Service has an address, "" for none.
func want(t *testing.T, client kubernetes.Interface, name, ip string) {
	t.Helper()
	var got string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got = address(t, client, name); got == ip {
			return
		}
	}
	t.Fatalf("Service %s has the address %q, not %q", name, got, ip)
}

// wantEvent waits for an event whose message has the text.
func wantEvent(t *testing.T, client kubernetes.Interface, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			if strings.Contains(e.Message, text) {
				return
			}
		}
	}
	t.Fatalf("no event says %q", text)
}

func TestAddressesAreGivenAndReleased(t *testing.T) {
	client := start(t, "10.0.0.0/29")
	create(t, client, service("a", nil))
	want(t, client, "a", "10.0.0.1")
	create(t, client, service("b", nil))
	want(t, client, "b", "10.0.0.2")
	s, err := client.CoreV1().Services("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if mode := s.Status.LoadBalancer.Ingress[0].IPMode; mode == nil || *mode != corev1.LoadBalancerIPModeVIP {
		t.Errorf("the IP mode is %v", mode)
	}
	if err := client.CoreV1().Services("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The next one is new: a client may still know the old one.
	create(t, client, service("c", nil))
	want(t, client, "c", "10.0.0.3")
}

func TestOtherServicesGetNone(t *testing.T) {
	client := start(t, "10.0.0.0/29")
	other, own := "example.com/other", Class
	create(t, client, service("cluster-ip", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }))
	create(t, client, service("other-class", func(s *corev1.Service) { s.Spec.LoadBalancerClass = &other }))
	create(t, client, service("own-class", func(s *corev1.Service) { s.Spec.LoadBalancerClass = &own }))
	want(t, client, "own-class", "10.0.0.1")
	create(t, client, service("last", nil))
	want(t, client, "last", "10.0.0.2") // the others were looked at before
	for _, name := range []string{"cluster-ip", "other-class"} {
		if ip := address(t, client, name); ip != "" {
			t.Errorf("Service %s has the address %s", name, ip)
		}
	}
}

func TestAServiceThatIsNoLongerOursLosesIt(t *testing.T) {
	client := start(t, "10.0.0.0/29")
	create(t, client, service("a", nil))
	want(t, client, "a", "10.0.0.1")
	s, err := client.CoreV1().Services("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.Type = corev1.ServiceTypeClusterIP
	if _, err := client.CoreV1().Services("default").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, client, "a", "")
}

func TestRequestedAddress(t *testing.T) {
	client := start(t, "10.0.0.0/29")
	ask := func(ip string) func(*corev1.Service) { return func(s *corev1.Service) { s.Spec.LoadBalancerIP = ip } }
	create(t, client, service("asks", ask("10.0.0.5")))
	want(t, client, "asks", "10.0.0.5")
	create(t, client, service("late", ask("10.0.0.5")))
	wantEvent(t, client, "10.0.0.5 belongs to Service default/asks")
	create(t, client, service("outside", ask("10.1.0.5")))
	wantEvent(t, client, "10.1.0.5 is not in the pool 10.0.0.0/29")
	create(t, client, service("strange", ask("five")))
	wantEvent(t, client, `"five" is not an address`)
	for _, name := range []string{"late", "outside", "strange"} {
		if ip := address(t, client, name); ip != "" {
			t.Errorf("Service %s has the address %s", name, ip)
		}
	}
	// Once it is free, the one that waits for it gets it.
	if err := client.CoreV1().Services("default").Delete(t.Context(), "asks", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, client, "late", "10.0.0.5")
}

func TestFullPool(t *testing.T) {
	client := start(t, "10.0.0.0/30") // two addresses
	for _, name := range []string{"a", "b", "c"} {
		create(t, client, service(name, nil))
	}
	wantEvent(t, client, "all 2 addresses of the pool 10.0.0.0/30 are taken")
	without := ""
	for _, name := range []string{"a", "b", "c"} {
		if address(t, client, name) == "" {
			without = name
		}
	}
	with := map[string]string{"a": "b", "b": "c", "c": "a"}[without]
	if err := client.CoreV1().Services("default").Delete(t.Context(), with, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); address(t, client, without) == ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the Service that waited got no address")
		}
	}
}

// After a restart, Services keep what they have.
func TestAddressesThatExistAreKept(t *testing.T) {
	has := service("has", func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
	})
	client := start(t, "10.0.0.0/29", service("has-none", nil), has)
	want(t, client, "has-none", "10.0.0.2")
	want(t, client, "has", "10.0.0.1")
}

func TestPoolComesRound(t *testing.T) {
	p := newPool(netip.MustParsePrefix("10.0.0.0/30"))
	for i, wantIP := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"} {
		ip, err := p.any("a")
		if err != nil || ip.String() != wantIP {
			t.Errorf("address %d is %s, not %s (%v)", i, ip, wantIP, err)
		}
		p.release("a")
	}
	if err := Start(t.Context(), fake.NewClientset(), "nonsense"); err == nil {
		t.Error("a pool that is none is accepted")
	}
}
