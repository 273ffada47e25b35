package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const adminToken = "admin-token-of-the-test"

// cluster is an API server on an etcd of its own, without anything that runs pods.
type cluster struct {
	t      *testing.T
	dir    string
	etcd   string
	port   int
	server *exec.Cmd
	admin  dynamic.Interface
}

// binaries is the folder that scripts/kubernetes/build fills.
func binaries(t *testing.T) string {
	dir := os.Getenv("KARASU_KUBERNETES")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err == nil {
			dir = filepath.Join(cache, "karasu", "kubernetes-1.35.4")
		}
	}
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			if os.Getenv("KARASU_REQUIRE_KUBERNETES") != "" {
				t.Fatalf("%v; scripts/kubernetes/build builds it", err)
			}
			t.Skipf("%v; scripts/kubernetes/build builds it", err)
		}
	}
	return dir
}

// newCluster starts both programs.
func newCluster(t *testing.T) *cluster {
	if testing.Short() {
		t.Skip("starts an API server")
	}
	bin := binaries(t)
	c := &cluster{t: t, dir: t.TempDir(), port: freePort(t)}
	peer := fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	c.etcd = fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	c.start(filepath.Join(bin, "etcd"), "--data-dir", filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", c.etcd, "--advertise-client-urls", c.etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	c.write("tokens.csv", []byte(adminToken+",admin,1,system:masters\n"))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c.write("accounts.key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	c.startServer()
	c.admin = dynamic.NewForConfigOrDie(c.config(""))
	return c
}

func (c *cluster) write(name string, data []byte) {
	if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// startServer starts the API server and waits until it is ready.
func (c *cluster) startServer() {
	key := filepath.Join(c.dir, "accounts.key")
	c.server = c.start(filepath.Join(binaries(c.t), "kube-apiserver"), "--etcd-servers", c.etcd, "--cert-dir", filepath.Join(c.dir, "certs"),
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(c.port),
		"--token-auth-file", filepath.Join(c.dir, "tokens.csv"), "--authorization-mode", "RBAC",
		"--service-cluster-ip-range", "10.0.0.0/24", "--service-account-issuer", "https://karasu.test",
		"--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--disable-admission-plugins", "ServiceAccount")
	config := c.config("")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.until("the API server is ready", func() bool {
		response, err := client.Get(config.Host + "/readyz")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == 200
	})
}

// config is of the administrator or of a user that the administrator acts as.
func (c *cluster) config(user string) *rest.Config {
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", c.port), BearerToken: adminToken, QPS: 100, Burst: 200,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // the server makes its own certificate
		Impersonate:     rest.ImpersonationConfig{UserName: user},
	}
}

// start starts a program that ends with the test.
func (c *cluster) start(path string, args ...string) *exec.Cmd {
	log, err := os.OpenFile(filepath.Join(c.dir, filepath.Base(path)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		stopProgram(cmd)
		_ = log.Close()
		if c.t.Failed() {
			raw, _ := os.ReadFile(log.Name())
			c.t.Logf("%s ends with:\n%s", filepath.Base(path), raw[max(0, len(raw)-2000):])
		}
	})
	return cmd
}

// stopProgram kills a program, if that has not been done, and waits for its end.
func stopProgram(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	}
}

// until waits for something that must come.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: did not happen", what)
		}
	}
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.ToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

// create creates an object as the administrator.
func (c *cluster) create(r schema.GroupVersionResource, text string) *unstructured.Unstructured {
	c.t.Helper()
	o := parse(c.t, text)
	created, err := c.admin.Resource(r).Namespace(o.GetNamespace()).Create(context.Background(), o, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return created
}

// get returns an object of the default namespace; nil while there is no answer.
func (c *cluster) get(r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	o, err := c.admin.Resource(r).Namespace("default").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return o
}

// status sets the status of an object of the default namespace.
func (c *cluster) status(r schema.GroupVersionResource, name, text string) {
	c.t.Helper()
	c.patch(r, name, text, "status")
}
