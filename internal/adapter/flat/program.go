package flat

import (
	"fmt"
	"hash/crc32"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// program returns a checksum of what this program makes of a few documents and
// of a vector. What was saved by a program that finds other words in the same
// documents, or has other codes for the same vectors, does not go with today's
// queries. That nobody has to think of it is worth the few
// milliseconds.
func program() (uint32, error) {
	words, err := lexical.New(lexical.Defaults())
	if err != nil {
		return 0, fmt.Errorf("flat: %w", err)
	}
	for slot, doc := range sampleDocuments() {
		if err := words.Put(uint32(slot), lexicalTexts(&doc)); err != nil {
			return 0, fmt.Errorf("flat: %w", err)
		}
	}
	words.Commit()
	sum := crc32.New(castagnoli)
	if _, err := words.Snapshot().WriteTo(sum); err != nil {
		return 0, fmt.Errorf("flat: %w", err)
	}
	var codes quantised
	codes.add(sampleVectors())
	_, _ = sum.Write(codes.codes)
	_, _ = sum.Write(bytesOf(codes.scales))
	return sum.Sum32(), nil
}

// sampleVectors returns a vector of each kind.
func sampleVectors() *events.Vectors {
	v := make([]float32, 67)
	for i := range v {
		v[i] = float32(i*i%29-14) / 100
	}
	return &events.Vectors{
		Dimensions: len(v), Name: v, Flat: v, Description: v, Response: v, Examples: []events.Vector{v}, Parameters: []events.Vector{v},
	}
}

// sampleDocuments returns documents in many languages and spellings, the first
// of them with something in every field.
func sampleDocuments() []schema.Document {
	texts := []string{
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
	}
	out := make([]schema.Document, len(texts))
	for i, text := range texts {
		out[i] = schema.Document{Description: text}
	}
	whole := &out[0]
	whole.Name, whole.Title, whole.Tags, whole.Response = "getSample_2", "A sample", []string{"sample tag"}, "The samples that were found."
	whole.Parameters = []schema.Parameter{{Name: "cityNames", Type: "array", Description: "The cities to look for.", Required: true}}
	whole.Examples = []string{"Which samples are there in Rome?"}
	return out
}
