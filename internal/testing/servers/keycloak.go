package servers

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// KeycloakName is the name of Keycloak, an identity provider with several issuers at one address.
const KeycloakName = "keycloak"

const (
	keycloakVersion = "26.4.5"
	keycloakSum     = "72f73642a2c36de797d51b4b2b342d4a49f6e5832af10aa470cd123627bd80b3" // SHA-256 of its archive
)

// makeKeycloak unpacks the archive from Maven and prepares it for a database in memory, which
// each start would otherwise do.
func makeKeycloak(ctx context.Context, home string) error {
	if err := checkJava(ctx); err != nil {
		return err
	}
	mvn, err := tool("mvn")
	if err != nil {
		return err
	}
	project := filepath.Join(home, "pom.xml")
	if err := os.WriteFile(project, pom, 0o644); err != nil {
		return err
	}
	const name = "keycloak-quarkus-dist"
	err = runTool(ctx, home, nil, gently(mvn, "-B", "-q", "--strict-checksums", "-f", project, "dependency:copy",
		"-Dartifact=org.keycloak:"+name+":"+keycloakVersion+":zip", "-DoutputDirectory="+home)...)
	if err != nil {
		return unavailable(ctx, err)
	}
	if err := unpackKeycloak(filepath.Join(home, name+"-"+keycloakVersion+".zip"), home); err != nil {
		return err
	}
	argv, err := keycloakArgs(home, "build", "--db=dev-mem")
	if err != nil {
		return err
	}
	return runTool(ctx, home, nil, gently(argv...)...)
}

// unpackKeycloak replaces the archive by its content.
func unpackKeycloak(archive, home string) error {
	sum, err := sumOf(archive)
	if err != nil {
		return err
	}
	if sum != keycloakSum {
		return fmt.Errorf("%s has SHA-256 %s instead of %s", filepath.Base(archive), sum, keycloakSum)
	}
	files, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	err = os.CopyFS(home, files)
	return errors.Join(err, files.Close(), os.Remove(archive))
}

// keycloakArgs returns the arguments that Keycloak's script would pass: the script leaves the
// server behind when it is killed.
// The simple compiler and collector start sooner and leave the other processors alone.
func keycloakArgs(home string, args ...string) ([]string, error) {
	java, err := java()
	folder := filepath.Join(home, "keycloak-"+keycloakVersion)
	return append([]string{
		java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "--add-opens=java.base/java.util=ALL-UNNAMED",
		"-Djava.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory",
		"-Djava.util.logging.manager=org.jboss.logmanager.LogManager", "-Dkc.home.dir=" + folder, "-Djboss.server.config.dir=" + filepath.Join(folder, "conf"),
		"-cp", filepath.Join(folder, "lib", "quarkus-run.jar"), "io.quarkus.bootstrap.runner.QuarkusEntryPoint",
	}, args...), err
}

// Keycloak returns the variables and the arguments that run Keycloak at a port, in the folder
// home, which Provision(KeycloakName) returns. It keeps nothing. The name and the password of
// its administrator are admin.
func Keycloak(home, port string) (env, argv []string, err error) {
	argv, err = keycloakArgs(home, "start", "--optimized", "--cache=local",
		"--http-enabled=true", "--http-host=127.0.0.1", "--http-port="+port, "--hostname=http://127.0.0.1:"+port)
	return []string{"KC_BOOTSTRAP_ADMIN_USERNAME=admin", "KC_BOOTSTRAP_ADMIN_PASSWORD=admin"}, argv, err
}
