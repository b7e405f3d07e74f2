package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/questions"
	"github.com/toolstream/toolstream/pkg/schema"
)

const questionsPath = "/v1/questions"

func newQuestions(con *console) *cobra.Command {
	return program.Group(&cobra.Command{
		Use:   "questions",
		Short: "Measure searches by questions that the server keeps",
		Long: `Keep questions of the tenant on the server, each with the tools that answer it, and measure
by them what searches find: as they are served, and by other weights, another reranking or
another embedding model. For operators. toolstream searches shows what callers asked for.`,
	}, newQuestionsList(con), newQuestionsAdd(con), newQuestionsRemove(con), newQuestionsImport(con), newQuestionsEvaluate(con))
}

func newQuestionsList(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the questions of the tenant", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := fetchQuestions(con, cmd)
			if err != nil {
				return err
			}
			return con.Show(q, func() {
				t := program.NewTable("ID", "RELEVANT…", "QUERY…")
				for _, one := range q.Questions {
					var ids []string
					for _, r := range one.Relevant {
						ids = append(ids, r.ID)
					}
					t.Add(one.ID, strings.Join(ids, " "), one.Query)
				}
				con.PrintTable(t)
				con.Notef("%d questions, version %s\n", len(q.Questions), q.Version)
			})
		},
	}
}

func fetchQuestions(con *console, cmd *cobra.Command) (q questions.Questions, err error) {
	return q, con.client().Get(cmd.Context(), questionsPath, nil, &q)
}

// changeQuestions reads the questions, changes them and writes them back.
func changeQuestions(con *console, cmd *cobra.Command, change func(*questions.Questions) error) error {
	q, err := fetchQuestions(con, cmd)
	if err != nil {
		return err
	}
	if err := change(&q); err != nil {
		return err
	}
	var now questions.Questions
	if err := con.client().Put(cmd.Context(), questionsPath, q, &now); err != nil {
		return err
	}
	return con.Show(now, func() { con.Notef("questions: %d\n", len(now.Questions)) })
}

func newQuestionsAdd(con *console) *cobra.Command {
	var relevant, arguments []string
	var id string
	cmd := &cobra.Command{
		Use: "add QUERY --relevant TOOL…", Short: "Add a question", Args: cobra.MinimumNArgs(1),
		Example: `  toolstream questions add "book a seat on a train" --relevant rail/book_seat
  toolstream questions add "where is my parcel" --relevant post/track=2 --relevant courier/status`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q := questions.Question{ID: id, Query: strings.Join(args, " ")}
			for _, r := range relevant {
				q.Relevant = append(q.Relevant, graded(r))
			}
			if len(q.Relevant) == 0 {
				return program.Misused(cmd, "name the tools that answer it with --relevant")
			}
			var err error
			if q.Arguments, err = named(arguments); err != nil {
				return program.Misused(cmd, "--argument %v", err)
			}
			return changeQuestions(con, cmd, func(all *questions.Questions) error {
				all.Questions = append(all.Questions, q)
				return nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&relevant, "relevant", nil, "a tool that answers it, as `ID` or ID=GRADE: how well, 1 if absent (repeatable)")
	cmd.Flags().StringArrayVar(&arguments, "argument", nil, "an argument that can be provided, as name=meaning (repeatable)")
	cmd.Flags().StringVar(&id, "id", "", "`ID` of the question; absent: one that follows from it")
	return cmd
}

// graded reads ID or ID=GRADE. An id may hold an equals sign.
func graded(text string) questions.Relevant {
	if at := strings.LastIndex(text, "="); at > 0 {
		if grade, err := strconv.ParseFloat(text[at+1:], 64); err == nil {
			return questions.Relevant{ID: text[:at], Grade: grade}
		}
	}
	return questions.Relevant{ID: text}
}

func newQuestionsRemove(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID...", Short: "Remove questions", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeQuestions(con, cmd, func(all *questions.Questions) error {
				for _, id := range args {
					at := slices.IndexFunc(all.Questions, func(q questions.Question) bool { return q.ID == id })
					if at < 0 {
						return fmt.Errorf("question %q does not exist", id)
					}
					all.Questions = slices.Delete(all.Questions, at, at+1)
				}
				return nil
			})
		},
	}
}

func newQuestionsImport(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Add the questions of a file, in place of those with the same ids", Args: cobra.ExactArgs(1),
		Long: `Add the questions of a file in the form of queries.jsonl, which docs/evaluate.md describes and
toolstream eval init makes of recorded searches. Questions without a relevant label are left out;
a question that the server has under the same id is replaced.`,
		Example: "  toolstream eval init my-tools\n  toolstream questions import my-tools/queries.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := dataset.ReadQueries(args[0])
			if err != nil {
				return err
			}
			var added []questions.Question
			for _, q := range read {
				one := questions.Question{ID: q.ID, Query: q.Text, Arguments: q.Arguments}
				for _, l := range q.Labels {
					if l.Relevance > 0 {
						one.Relevant = append(one.Relevant, questions.Relevant{ID: l.ID, Grade: l.Relevance, Alternatives: l.Alternatives})
					}
				}
				if len(one.Relevant) > 0 {
					added = append(added, one)
				}
			}
			if left := len(read) - len(added); left > 0 {
				con.Notef("note: %d questions have no relevant label and are left out\n", left)
			}
			return changeQuestions(con, cmd, func(all *questions.Questions) error {
				for _, q := range added {
					at := slices.IndexFunc(all.Questions, func(has questions.Question) bool { return has.ID == q.ID })
					if at < 0 {
						all.Questions = append(all.Questions, q)
					} else {
						all.Questions[at] = q
					}
				}
				return nil
			})
		},
	}
}

func newQuestionsEvaluate(con *console) *cobra.Command {
	var with []string
	req := questions.EvaluationRequest{Runs: []questions.EvaluationSettings{{}}}
	cmd := &cobra.Command{
		Use: "evaluate", Short: "Measure searches by the questions of the tenant", Args: cobra.NoArgs,
		Long: `Ask the server all questions as it is set, judge the results, and compare with other settings:
--with names them as weights=VERSION, rerank=MODE, rewrite=MODE and model=NUMBER (of an index
version), separated by commas. Searches of callers come first, and the searches of an evaluation
teach nothing.`,
		Example: `  toolstream questions evaluate
  toolstream questions evaluate --with weights=builtin --with rerank=auto,rewrite=off`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range with {
				settings, err := settingsOf(text)
				if err != nil {
					return program.Misused(cmd, "--with %v", err)
				}
				req.Runs = append(req.Runs, settings)
			}
			var out questions.EvaluationResult
			if err := con.client().Post(cmd.Context(), questionsPath+":evaluate", req, &out); err != nil {
				return err
			}
			return con.Show(out, func() { printEvaluation(con, out, append([]string{"as served"}, with...)) })
		},
	}
	cmd.Flags().StringArrayVar(&with, "with", nil, "other `SETTINGS` to compare with, such as weights=builtin,rerank=off (repeatable, up to 3)")
	cmd.Flags().IntVarP(&req.K, "limit", "k", 10, "how many results of each question, 10 to 100")
	return cmd
}

// settingsOf reads NAME=VALUE,NAME=VALUE.
func settingsOf(text string) (s questions.EvaluationSettings, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "weights":
			s.Weights = value
		case "rerank":
			s.Rerank = schema.Rerank(value)
		case "rewrite":
			s.Rewrite = schema.Rewrite(value)
		case "model":
			s.Model, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("%q", part)
		}
		if err != nil {
			return s, fmt.Errorf("%q is not made of weights=VERSION, rerank=MODE, rewrite=MODE and model=NUMBER", text)
		}
	}
	return s, nil
}

func printEvaluation(con *console, e questions.EvaluationResult, names []string) {
	t := program.NewTable("RUN", "WEIGHTS", "NDCG@10", "95 %", "RECALL@5", "RECALL@10", "COMPLETE@10", "MRR")
	for i, r := range e.Runs {
		m := r.Metrics
		t.Add(names[i], r.Settings.Weights, share(m.NDCG10), fmt.Sprintf("%.3f to %.3f", r.Intervals.NDCG10.Low, r.Intervals.NDCG10.High),
			share(m.Recall5), share(m.Recall10), share(m.Complete10), share(m.MRR))
	}
	con.PrintTable(t)
	if len(e.Runs) > 1 {
		con.Printf("\nNDCG@10 against the served settings:\n\n")
		t := program.NewTable("RUN", "GAIN", "95 %", "P")
		for i, r := range e.Runs[1:] {
			d := r.Difference.NDCG10
			t.Add(names[i+1], fmt.Sprintf("%+.4f", d.Gain), fmt.Sprintf("%+.3f to %+.3f", d.Low, d.High), share(d.P))
		}
		con.PrintTable(t)
	}
	printPlaces(con, e)
	if len(e.Missing) > 0 {
		con.Notef("note: nothing here has the id %s: correct the questions\n", strings.Join(e.Missing, ", "))
	}
}

func share(x float64) string { return fmt.Sprintf("%.4f", x) }

// printPlaces shows questions whose first result is not relevant in some run, with the place
// of the first that is.
func printPlaces(con *console, e questions.EvaluationResult) {
	t := program.NewTable("QUESTION", "FIRST RELEVANT", "FIRST RESULT", "QUERY…")
	wrong := 0
	for i, q := range e.Runs[0].Questions {
		var places []string
		right := true
		for _, r := range e.Runs {
			place := "-"
			if first := r.Questions[i].First; first > 0 {
				place = strconv.Itoa(first)
			}
			places, right = append(places, place), right && place == "1"
		}
		if right {
			continue
		}
		if wrong++; wrong > shownMissed {
			continue
		}
		result := ""
		if len(q.Results) > 0 {
			result = q.Results[0]
		}
		t.Add(q.ID, strings.Join(places, ", "), result, q.Query)
	}
	if wrong > 0 {
		con.Printf("\nnot first, for %d questions; the place of the first relevant tool in each run:\n\n", wrong)
		con.PrintTable(t)
	}
}
