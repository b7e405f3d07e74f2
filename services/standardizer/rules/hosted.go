package rules

import (
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// hostedTool is the vendor's documentation of a tool whose document has only its type.
type hostedTool struct {
	does, answers string
	parameters    []schema.Parameter
}

func given(name, typ, description string, enum ...string) schema.Parameter {
	return schema.Parameter{Name: name, Type: typ, Required: true, Description: description, Enum: enum}
}

var (
	webSearch = hostedTool{"Searches the web for current information on a question.", "Returns web pages with title, address and passages to cite.",
		[]schema.Parameter{given("query", "string", "What to search for")}}
	computerUse = hostedTool{"Operates a computer's desktop: takes screenshots, moves and clicks the mouse, scrolls, types text and presses keys.", "Returns a screenshot.",
		[]schema.Parameter{given("action", "string", "What to do: take a screenshot, click, type, press a key, scroll")}}
	shell = hostedTool{"Runs commands in a shell.", "Returns what the command prints, and its exit code.",
		[]schema.Parameter{given("command", "string", "The command to run")}}
	codeExecution = hostedTool{"Runs code in a sandbox to calculate, analyse data, make charts and work on files.", "Returns what the code prints, and the files that it makes.",
		[]schema.Parameter{given("code", "string", "The code to run")}}
	filePath   = given("path", "string", "Path of the file or folder")
	toolSearch = hostedTool{"Searches the tools that are not loaded for those that fit a task.", "Returns references to the tools that fit.",
		[]schema.Parameter{given("query", "string", "What the tools are to do")}}
)

// hostedTools maps types without their version to tools.
var hostedTools = map[string]hostedTool{
	"web_search": webSearch, "web_search_preview": webSearch,
	"web_fetch": {"Fetches the content of a web page or a PDF document.", "Returns the text of the page or document.",
		[]schema.Parameter{given("url", "string", "Address of the page or document")}},
	"code_execution": codeExecution, "code_interpreter": codeExecution,
	"computer": computerUse, "computer_use": computerUse, "computer_use_preview": computerUse,
	"bash":  {shell.does, shell.answers, []schema.Parameter{shell.parameters[0], {Name: "restart", Type: "boolean", Description: "Start the shell anew"}}},
	"shell": shell, "local_shell": shell,
	"text_editor": {"Views, creates and edits text files.", "Returns the content of the file, or what was changed.",
		[]schema.Parameter{given("command", "string", "What to do", "view", "create", "str_replace", "insert"), filePath}},
	"memory": {"Keeps notes in files that last from one conversation to the next: reads, writes, changes and deletes them.", "Returns the content of the file or folder, or what was changed.",
		[]schema.Parameter{given("command", "string", "What to do", "view", "create", "str_replace", "insert", "delete", "rename"), filePath}},
	"file_search": {"Searches uploaded files in vector stores, by meaning and by words.", "Returns passages of files with their scores.",
		[]schema.Parameter{given("query", "string", "What to search for")}},
	"image_generation": {"Makes images from a description, or edits images.", "Returns an image.",
		[]schema.Parameter{given("prompt", "string", "What the image is to show, or how to change it")}},
	"apply_patch": {"Creates, changes and deletes files by patches.", "Returns whether each patch could be applied.",
		[]schema.Parameter{filePath, given("diff", "string", "The change")}},
	"tool_search": toolSearch, "tool_search_tool_regex": toolSearch, "tool_search_tool_bm25": toolSearch,
}

// toolVersion matches the version at the end of a type: "_20250305", "_2025_03_11".
var toolVersion = regexp.MustCompile(`_20\d\d_?\d\d_?\d\d$`)

// hosted reads a tool that Anthropic or OpenAI defines: {"type","name"?} and settings. The
// vendor documents the tools of a type.
func hosted(m map[string]any) schema.Document {
	kind := toolVersion.ReplaceAllString(str(m["type"]), "")
	known := hostedTools[kind]
	return schema.Document{
		Name: cmpOr(str(m["name"]), str(m["type"])), Title: strings.ReplaceAll(kind, "_", " "),
		Description: known.does, Response: known.answers, Parameters: known.parameters,
	}
}
