package modelstore

import (
	"maps"
	"runtime"
	"slices"
)

// catalog returns the known entries by name, with the SHA-256 of each file. Files
// are recognised by their content, not by their names.
func catalog() map[string]Manifest {
	minilm := File{TokenizerFile, 711661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"}
	bge := File{TokenizerFile, 711396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"}
	all := map[string]Manifest{
		"minilm": known("all-MiniLM-L6-v2", "Apache-2.0", "mean", "f32", minilm,
			File{ModelFile, 90387606, "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e"}),
		"minilm-q": known("all-MiniLM-L6-v2", "Apache-2.0", "mean", "int8", minilm,
			File{ModelFile, 22972370, "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"}),
		"bge-small": known("bge-small-en-v1.5", "MIT", "cls", "f32", bge,
			File{ModelFile, 133093490, "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35"}),
		"bge-small-q": known("bge-small-en-v1.5", "MIT", "cls", "int8", bge,
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

// Known lists the names that Add knows by itself, in order.
func Known() []string { return slices.Sorted(maps.Keys(catalog())) }
