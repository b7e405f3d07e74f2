package jetstream
import ("testing";"os";"os/exec";"path/filepath";"fmt";"bytes";"log/slog";"strings"
"context"
"github.com/toolstream/toolstream/internal/stream";"github.com/toolstream/toolstream/pkg/events")

func TestExplore(t *testing.T) {
	base := t.TempDir(); clean := filepath.Join(base,"clean"); crash := filepath.Join(base,"crash")
	s := open(t, Config{Dir: clean})
	val := bytes.Repeat([]byte("x"), 3000)
	for b := range 10 {
		var ms []stream.Message
		for i := range 500 { for _, tp := range []events.Topic{events.ToolsRaw, events.Searches} { ms = append(ms, stream.Message{Topic: tp, Key: fmt.Sprint("t/", (b*500+i)%4000), Value: append([]byte(fmt.Sprint(b*500+i)), val...)}) } }
		if err := s.Publish(t.Context(), ms...); err != nil { t.Fatal(err) }
	}
	if out, err := exec.Command("cp","-r",clean,crash).CombinedOutput(); err != nil { t.Fatal(string(out)) }
	closeServer(t, s)
	out, _ := exec.Command("find", clean, "-type", "f", "-size", "+1k", "-printf", "%P %s\n").CombinedOutput()
	fmt.Println(string(out))
	for _, src := range []string{"clean","crash"} {
	for _, topic := range []string{"tools-raw","searches"} {
		for _, dmg := range []string{"none","truncate last", "flip first","flip last","delete first","delete last","delete index.db","meta","stream dir", "flip first noidx"} {
			dir := filepath.Join(base,"x"); os.RemoveAll(dir)
			exec.Command("cp","-r",filepath.Join(base,src),dir).Run()
			sd := filepath.Join(dir,"jetstream/$G/streams/toolstream-"+topic)
			blks, _ := filepath.Glob(filepath.Join(sd,"msgs","*.blk"))
			first, last := blks[0], blks[len(blks)-1]
			if len(blks) > 1 && len(filepath.Base(first)) > len(filepath.Base(last)) { t.Log("order", blks) }
			flip := func(f string) { d,_ := os.ReadFile(f); d[len(d)/2] ^= 0xff; os.WriteFile(f,d,0o600) }
			switch dmg {
			case "truncate last": fi,_ := os.Stat(last); os.Truncate(last, fi.Size()/2)
			case "flip first": flip(first)
			case "flip last": flip(last)
			case "flip first noidx": flip(first); os.Remove(filepath.Join(sd,"msgs","index.db"))
			case "delete first": os.Remove(first)
			case "delete last": os.Remove(last)
			case "delete index.db": os.Remove(filepath.Join(sd,"msgs","index.db"))
			case "meta": os.Remove(filepath.Join(sd,"meta.inf"))
			case "stream dir": os.RemoveAll(sd)
			}
			var log bytes.Buffer
			s, err := Open(context.Background(), Config{Dir: dir}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
			n := -1; var st state
			if err == nil {
				tp := events.Topic(strings.ReplaceAll(topic,"-","."))
				st, _ = s.state(t.Context(), s.cfg.streamName(tp))
				info, _ := s.js.Stream(t.Context(), s.cfg.streamName(tp))
				func(){ defer func(){ recover() }(); n = len(readWhole(t, s, tp)) }()
				st2, _ := s.state(t.Context(), s.cfg.streamName(tp))
				fmt.Printf("%s %s %q: msgs=%d subjects=%d last=%d lost=%v lostafter=%v read=%d\n", src, topic, dmg, info.CachedInfo().State.Msgs, info.CachedInfo().State.NumSubjects, st.LastSeq, st.Lost != nil, st2.Lost != nil, n)
				s.Close(context.Background())
			} else { fmt.Printf("%s %s %q: ERROR %v\n", src, topic, dmg, err) }
			if log.Len() > 0 { fmt.Println("   ", strings.SplitN(log.String(),"\n",3)[0]) }
		}
	}}
}
