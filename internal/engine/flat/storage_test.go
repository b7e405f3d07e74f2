package flat

import (
	"fmt"
	"hash/crc32"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// history is what an index held after each batch: versions by id, by position.
type history map[uint64]map[string]schema.Version

// written returns a folder with the files of an index that has lived a little,
// and its history.
func written(t *testing.T) (string, history) {
	folder := t.TempDir()
	i, m := open(t, folder), newMaker(1)
	h := history{0: {}}
	now := map[string]schema.Version{}
	for offset := uint64(1); offset <= 12; offset++ {
		var changes []events.Change
		for range 9 {
			c := m.tool("tenant", fmt.Sprintf("tool-%02d", m.rng.IntN(40)))
			if m.rng.IntN(4) == 0 {
				c = m.remove(c.Ref)
			}
			changes = append(changes, c)
			now[c.ID] = c.Version
			if c.Document == nil {
				delete(now, c.ID)
			}
		}
		apply(t, i, offset, changes...)
		h[offset] = maps.Clone(now)
	}
	check.OK(t, i.Close())
	return folder, h
}

// only returns the one segment in a folder.
func only(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.segment"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d segments, %v", len(files), err)
	}
	return files[0]
}

// An index whose file was damaged holds what its positions say. In the end of
// the file the damage cannot be told from a crash: then it stands at an older
// position, else at none, and the damaged file is kept.
func TestFlippedBits(t *testing.T) {
	folder, h := written(t)
	sound := check.Value(os.ReadFile(only(t, folder)))(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 60 {
		b := slices.Clone(sound)
		if round == 0 {
			b[0] ^= 1 // the header
		}
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		damaged := t.TempDir()
		check.OK(t, os.WriteFile(filepath.Join(damaged, filepath.Base(only(t, folder))), b, 0o600))
		i := open(t, damaged)
		at := i.Positions()[0]
		if at == 12 {
			t.Fatal("the damage was not found")
		}
		kept, err := os.ReadDir(filepath.Join(damaged, "damaged"))
		if round == 0 && (len(kept) != 1 || err != nil) {
			t.Fatalf("%d files were kept, %v", len(kept), err)
		}
		wantHeld(t, i, h[at])
		apply(t, i, 99, newMaker(9).tool("tenant", "new"))
		check.OK(t, i.Close())
	}
}

func wantHeld(t *testing.T, i *Index, want map[string]schema.Version) {
	t.Helper()
	all, _, err := i.List(t.Context(), "tenant", index.Listing{Kind: schema.KindTool, Limit: 1000})
	check.OK(t, err)
	got := map[string]schema.Version{}
	for _, e := range all {
		got[e.ID] = e.Version
	}
	if !maps.Equal(got, want) || i.Stats()["tenant"].Tools != len(want) {
		t.Fatalf("it holds %v and finds %d, want %v", got, i.Stats()["tenant"].Tools, want)
	}
}

// A segment that is missing is noticed: what is left does not add up.
func TestMissingSegment(t *testing.T) {
	folder, m := t.TempDir(), newMaker(1)
	m.dimensions = 4096
	i := open(t, folder)
	for n := range uint64(6) {
		apply(t, i, n+1, m.tools(fmt.Sprint("tenant", n), 50)...)
	}
	check.OK(t, i.Close())
	files, err := filepath.Glob(filepath.Join(folder, "*.segment"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d segments, %v", len(files), err)
	}
	check.OK(t, os.Remove(files[0]))
	i = open(t, folder)
	if len(i.Positions()) != 0 || len(i.Stats()) != 0 {
		t.Errorf("it stands at %v with %v", i.Positions(), i.Stats())
	}
}

// memory returns what an index holds of each entity of a tenant: version and
// rows.
func memory(i *Index, tenant string) map[name]string {
	out := map[name]string{}
	stride := vector.Stride(i.state.Load().Dimensions)
	for _, b := range i.tenants.find(tenant).now.Load().blocks {
		for live := b.live; live != 0; live &= live - 1 {
			at := bits.TrailingZeros64(live)
			e := b.entities[at]
			s := fmt.Sprint(e.version, e.head, e.required, e.provider.Value(), b.owner[at].Value(), len(e.tags))
			for kind := range b.rows {
				codes, scales := b.rows[kind].between(at, at+1, stride)
				s += fmt.Sprint(kind, codes, scales, b.rows[kind].lacks>>at&1)
			}
			out[name{e.ref.Kind, e.ref.ID}] = s
		}
	}
	return out
}

// rebuild makes the scores of a tenant exact at once, as the maintenance would after a while.
func rebuild(i *Index, tenant string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tenants.find(tenant).rebuild()
}

// A restart finds what was there, compacted meanwhile, and ranks the same.
func TestRestart(t *testing.T) {
	folder, m := t.TempDir(), newMaker(4)
	m.dimensions = 1024
	i := open(t, folder)
	many := m.tools("tenant", 700)
	offset := uint64(0)
	for range 4 {
		for n := range many {
			if m.rng.IntN(10) > 0 {
				many[n] = m.tool("tenant", many[n].ID)
			}
		}
		offset++
		apply(t, i, offset, many...)
		offset++
		apply(t, i, offset, m.remove(many[offset].Ref))
	}
	size := int64(0)
	files, _ := filepath.Glob(filepath.Join(folder, "*.segment"))
	for _, f := range files {
		info := check.Value(os.Stat(f))(t)
		size += info.Size()
	}
	if records := i.Stats()["tenant"].Records; size > 2*records+32<<20 {
		t.Errorf("%d bytes on disk for records of %d", size, records)
	}
	rebuild(i, "tenant")
	ask := func() (all []string) {
		q := newMaker(77)
		q.dimensions = m.dimensions
		for range 5 {
			found := check.Value(i.Candidates(t.Context(), index.Lookup{Tenant: "tenant", Probe: q.probe(), Model: adaptertest.Weights(), N: 500}))(t)
			all = append(all, fmt.Sprint(found))
		}
		return all
	}
	held, answers := memory(i, "tenant"), ask()
	i = reopen(t, i)
	if got := memory(i, "tenant"); !maps.Equal(got, held) {
		t.Errorf("it holds %d entities, not the same as %d", len(got), len(held))
	}
	if !slices.Equal(ask(), answers) {
		t.Error("it ranks in another way")
	}
	if i.Positions()[0] != offset {
		t.Errorf("it stands at %v", i.Positions())
	}
}

// sampleRecord returns a record with everything in it.
func sampleRecord(t testing.TB) *record {
	c := newMaker(1).tool("tenant", "id")
	c.Document.Quarantined = true
	return encodable(t, &c)
}

// encodable returns a change as it is stored.
func encodable(t testing.TB, c *events.Change) *record {
	r := check.Value(newRecord(c))(t)
	r.rows.add(&r.vectors)
	r.words = lexical.New().Analyze(lexicalTexts(c.Document, c.Provider), extra(r))
	return r
}

// encoded returns the bytes of a record.
func encoded(t testing.TB, r *record) []byte {
	return check.Value(r.encode())(t)
}

func TestRecordsKeepEverything(t *testing.T) {
	r := sampleRecord(t)
	for name, change := range map[string]func(*record){
		"whole": func(*record) {},
		"tombstone": func(r *record) {
			*r = record{meta: meta{Ref: r.Ref, Version: r.Version, Accepted: r.Accepted, Deleted: true}}
		},
		"no time": func(r *record) { r.Accepted = time.Time{} },
		"one row": func(r *record) {
			r.vectors, r.rows = events.Vectors{Dimensions: 16, Flat: r.vectors.Flat}, quantised{}
			r.Counts = countsOf(&r.vectors)
			r.rows.add(&r.vectors)
		},
	} {
		want := *r
		change(&want)
		got, err := decode(encoded(t, &want))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want.doc, want.body, want.vectors.Model = nil, 0, ""
		if want.Deleted {
			want.Tags, want.Required = []string{}, []bool{}
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got\n%+v, want\n%+v", name, *got, want)
		}
	}
}

// Bytes that carry a right checksum by chance, or by intent, still do not
// make the decoder panic or take memory beyond their length.
func FuzzRecord(f *testing.F) {
	r := sampleRecord(f)
	f.Add(encoded(f, r))
	f.Add(encoded(f, &record{meta: meta{Ref: r.Ref, Deleted: true}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decode(b)
		_, _ = decodeMeta(b, &state{})
	})
}

// The words and codes of a document are stored: where the program makes others
// of it, what is stored no longer goes with today's queries. If this test
// fails, raise format and put the checksum that it names here.
func TestFormat(t *testing.T) {
	const want = 0xafe3e4ac
	sum := crc32.NewIEEE()
	for n, text := range []string{
		"Lists all users who are running or have run payments; getUserByID2, HTTPServer v1.2 and user_name are not deleted before 2024-05-01.",
		"<p>Searches <b>flights</b> &amp; hotels</p>, see https://example.org/a?b=c or `POST /orders/{orderId}` for e-mail@example.org.",
		"Liefert die Wettervorhersage für Straßen und Städte, welche die Benutzer vorher gespeichert haben, samt Rechnungsadressen.",
		"Renvoie les prévisions météorologiques des villes que l'utilisateur avait enregistrées, avec leurs adresses de facturation.",
		"Devuelve los pronósticos del tiempo de las ciudades que los usuarios habían guardado y sus direcciones de facturación.",
		"Devolve as previsões do tempo das cidades que os usuários tinham guardado, com os seus endereços de cobrança.",
		"Restituisce le previsioni del tempo delle città che gli utenti avevano salvato, con gli indirizzi di fatturazione.",
		"Geeft de weersvoorspellingen van steden die gebruikers hadden opgeslagen, met hun factuuradressen.",
		"Hämtar väderprognoser för städer som användarna har sparat, med deras faktureringsadresser.",
		"Hakee sääennusteet kaupungeille, jotka käyttäjät ovat tallentaneet, ja heidän laskutusosoitteensa.",
		"Zwraca prognozy pogody dla miast, które użytkownicy zapisali, wraz z adresami do faktur.",
		"Kullanıcıların kaydettiği şehirlerin hava tahminlerini ve fatura adreslerini döndürür.",
		"Возвращает прогнозы погоды для городов, которые сохранили пользователи, и адреса для счетов.",
		"تعيد توقعات الطقس للمدن التي حفظها المستخدمون مع عناوين الفواتير.",
		"उपयोगकर्ताओं द्वारा सहेजे गए शहरों के मौसम पूर्वानुमान लौटाता है।",
		"返回用户保存的城市的天气预报和账单地址。",
		"ユーザーが保存した都市の天気予報と請求先住所を返します。",
		"사용자가 저장한 도시의 일기 예보와 청구지 주소를 반환합니다.",
	} {
		v := make([]float32, 67)
		for i := range v {
			v[i] = float32((i+n)*(i+n)%29-14) / 100
		}
		c := events.Change{Ref: schema.Ref{Tenant: "tenant", Kind: schema.KindTool, ID: "id"}, Op: events.OpUpsert, Accepted: time.Unix(1e9, 0)}
		c.Document = &schema.Document{
			Name: "getSample_2", Title: "A sample", Tags: []string{"sample tag"}, Description: text, Response: text, Examples: []string{text},
			Parameters: []schema.Parameter{{Name: "cityNames", Type: "array", Description: text, Required: true}},
		}
		c.Vectors = &events.Vectors{Dimensions: len(v), Name: v, Flat: v, Response: v, Examples: []events.Vector{v}, Parameters: []events.Vector{v}}
		r := encodable(t, &c)
		_, _ = sum.Write(r.rows.codes)
		_, _ = sum.Write(r.words)
	}
	if sum.Sum32() != want {
		t.Errorf("format %d has another checksum: %#x, not %#x", format, sum.Sum32(), uint32(want))
	}
}
