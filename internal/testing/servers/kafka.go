package servers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
)

// kafkaVersion is the version that pom.xml pins; a test compares them.
const kafkaVersion = "4.1.1"

// oldestJava is the minimum version for Kafka 4 and Keycloak 26.
const oldestJava = 17

//go:embed pom.xml
var pom []byte

//go:embed kafka.sha256
var kafkaSums string

// makeKafka copies the broker's jars to home/jars, each one verified.
func makeKafka(ctx context.Context, home string) error {
	if err := checkJava(ctx); err != nil {
		return err
	}
	mvn, err := tool("mvn")
	if err != nil {
		return err
	}
	project, jars := filepath.Join(home, "pom.xml"), filepath.Join(home, "jars")
	if err := os.WriteFile(project, pom, 0o644); err != nil {
		return err
	}
	err = runTool(ctx, home, nil, gently(mvn, "-B", "-q", "--strict-checksums", "-f", project,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars)...)
	if err != nil {
		return unavailable(ctx, err)
	}
	return verify(jars, kafkaSums)
}

func checkJava(ctx context.Context) error {
	java, err := java()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return unavailable(ctx, fmt.Errorf("%s -version: %w: %s", java, err, end(out)))
	}
	m := regexp.MustCompile(`version "(\d+)`).FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("%w: %s does not tell its version: %s", ErrUnavailable, java, end(out))
	}
	if n, err := strconv.Atoi(string(m[1])); err != nil || n < oldestJava {
		return fmt.Errorf("%w: %s is Java %s, Kafka and Keycloak want %d; JAVA_HOME names another", ErrUnavailable, java, m[1], oldestJava)
	}
	return nil
}

func java() (string, error) {
	if dir := os.Getenv("JAVA_HOME"); dir != "" {
		return tool(filepath.Join(dir, "bin", "java"))
	}
	return tool("java")
}

// verify compares a folder with a list as sha256sum writes it: the same files,
// no more and no fewer.
func verify(dir, sums string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	for _, f := range files {
		sum, err := sumOf(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if want[f.Name()] != sum {
			return fmt.Errorf("%s has SHA-256 %s instead of %q", f.Name(), sum, want[f.Name()])
		}
		delete(want, f.Name())
	}
	for name := range want {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// layKafka writes the settings and formats the storage, unless it is there.
func layKafka(ctx context.Context, home, dir string) (plan, error) {
	p, err := ports(dir, 2)
	if err != nil {
		return plan{}, err
	}
	java, err := java()
	if err != nil {
		return plan{}, err
	}
	addr, controller := loopback(p[0]), loopback(p[1])
	settings := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(settings, []byte(kafkaSettings(addr, controller, dir)), 0o600); err != nil {
		return plan{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return plan{}, err
	}
	if err := formatKafka(ctx, java, home, dir, settings); err != nil {
		return plan{}, err
	}
	return plan{
		addr:  addr,
		argv:  jvm(java, home, dir, "512m", "kafka.Kafka", settings),
		ready: func(ctx context.Context) error { return kafkaReady(ctx, addr) },
	}, nil
}

// kafkaSettings returns the settings of a small single node that is its own controller and
// does not wait for others to join a group.
func kafkaSettings(addr, controller, dir string) string {
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		"listeners=CLIENT://" + addr + ",CONTROLLER://" + controller,
		"advertised.listeners=CLIENT://" + addr,
		"listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name=CLIENT",
		"controller.listener.names=CONTROLLER",
		"controller.quorum.voters=1@" + controller,
		"log.dirs=" + filepath.Join(dir, "data"),
		"auto.create.topics.enable=false",
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=4",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		// Tests that kill a member of a group wait until its session is over.
		"group.min.session.timeout.ms=1000",
		// A killed broker can rejoin only when its session is over.
		"broker.session.timeout.ms=3000",
		"broker.heartbeat.interval.ms=500",
		"log.cleaner.dedupe.buffer.size=8388608",
	}
	return strings.Join(lines, "\n") + "\n"
}

func formatKafka(ctx context.Context, java, home, dir, settings string) error {
	if exists(filepath.Join(dir, "data", "meta.properties")) {
		return nil
	}
	id := make([]byte, 16)
	rand.Read(id)
	id[0] &= 0x7f // else the first letter may be a hyphen, which reads as an option
	argv := jvm(java, home, dir, "128m", "kafka.tools.StorageTool", "format", "--config", settings,
		"--cluster-id", base64.RawURLEncoding.EncodeToString(id))
	if err := runTool(ctx, dir, nil, argv...); err != nil {
		return fmt.Errorf("format the storage: %w", err)
	}
	return nil
}

// jvm is the command of one of Kafka's programs. The simple compiler and
// collector start sooner and leave the other processors alone. Unpacked files
// and measurements stay in dir, even if the program is killed.
func jvm(java, home, dir, heap, class string, args ...string) []string {
	return append([]string{java, "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData", "-Djava.io.tmpdir=" + filepath.Join(dir, "tmp"), "-Dlog4j2.level=INFO", "-cp", filepath.Join(home, "jars", "*"), class}, args...)
}

func kafkaReady(ctx context.Context, addr string) error {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	if len(answer.Brokers) == 0 {
		return errors.New("no broker is registered yet")
	}
	return nil
}
