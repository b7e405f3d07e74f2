package injection

// signal is a sign that is one of several chains in a text, which reveal has returned.
type signal struct {
	name   string
	weight float64
	chains []chain
}

// The signs without chains.
const (
	signTags       = "tags"       // ASCII in characters without a glyph
	signHidden     = "hidden"     // many invisible characters
	signGap        = "gap"        // text behind much white space
	signRepetition = "repetition" // endless repetition
)

func newSignal(name string, weight float64, chains ...string) signal {
	s := signal{name: name, weight: weight}
	for _, c := range chains {
		s.chains = append(s.chains, newChain(c))
	}
	return s
}

// entries finds the signals in texts.
var entries = newEntryIndex(signals)

var signals = []signal{
	newSignal("overrules", 1,
		"ignor|disregard|forget|overrid|supersed|bypass .. previous|prior$|above|earlier|preceding|your|system|safety .. instruction|prompt|rule|direction|guideline|command|restriction|guardrail|polic|schema|constraint",
		"ignor|disregard|forget|overrid|supersed|bypass .. other|existing|original|all|any|these|those .. instruction|prompt|direction|guideline|guardrail",
		"ignorier|vergiss|missachte .. anweisung|instruktion|regeln|vorgaben|befehle",
		"ignore|oublie .. instructions précédentes|instructions ci-dessus|consignes|règles|directives",
		"ignora$|ignore$|olvida$|olvide$ .. instrucciones anteriores|reglas|indicaciones|órdenes",
		"ignora$|ignore$|esqueça|desconsidere .. instruções|regras",
		"ignora$|ignori$|dimentica .. istruzioni precedenti|regole",
		"negeer|vergeet .. instructies|regels|aanwijzingen",
		"игнорируй|проигнорируй|забудь .. инструкци|указани|правил|команд",
		"忽略|无视|忘记 .. 指令|指示|提示|规则", "指示|命令|ルール|プロンプト .. 無視し|忘れ",
		"지시|명령|규칙|프롬프트 .. 무시하고|무시해|무시하", "تجاهل .. التعليمات|الأوامر|القواعد", "निर्देश .. अनदेखा|नज़रअंदाज",
		"talimat|kural .. yok say|görmezden|unut", "zignoruj .. instrukcj|polece|zasad"),
	// Of firewalls, branches and imports this is said in all honesty, too.
	newSignal("overrules rules", 0.5,
		"ignor|disregard|forget|overrid|supersed|bypass .. other|existing|original|all|any|these|those .. rule|command|restriction|polic|schema|constraint"),
	newSignal("prompt", 0.7,
		"system prompt|system-prompt|system message|system instruction|<system|</system|im_start|[inst]|[/inst]|<<sys>>|### instruction|### system|developer message",
		"system: you|system: ignore|system: from|system: always|system override",
		"системный промпт|системного промпта|系统提示|システムプロンプト|시스템 프롬프트|prompt système|prompt del sistema|prompt do sistema|prompt di sistema"),
	newSignal("addresses a model", 0.6,
		"note|message|attention|instruction|important|reminder|memo|hint|warning|order|dear ~ to$|for$|all|any|ai$|llm .. ai$|ai:|llm|language model|assistant|model$|models$",
		"attention|dear ~ ai$|llm|language model|assistant|models",
		"you are an|you are a|you are now|you are no longer .. ai$|llm|assistant|language model|chatbot|model$|dan$",
		"ai$|llm|llms|language model|ai assistant|ai model|models|assistants|agents ~ reading|processing|that reads|must$|shall$|has to|have to|is required|are required|is instructed",
		"hinweis an|an die|für das|achtung ~ ki$|sprachmodell|modell", "note au modèle|cher modèle|nota al modelo|querido modelo|caro modelo|nota ao modelo|caro modello|taalmodel:",
		"модель, |ассистент, |внимание, модель|внимание, ии|语言模型：|语言模型:|模型请|模型必须|モデルへ|モデルは必ず|アシスタントへ|모델에게|모델은 반드시|मॉडल के लिए|إلى النموذج"),
	newSignal("hides from the user", 0.7,
		"do not|don't|never|must not|should not|without .. tell|mention|inform|reveal|notify|show|disclos|alert|let$|explain|asking .. user|human$",
		"hide|conceal|keep .. from the user|from the human", "secretly|covertly", "silently ~ send|forward|read|copy|include|add|call|append",
		"sag|teile|ohne .. nutzer|benutzer .. nicht|informier|erwähn|wissen", "sans le dire|sans informer|sans prévenir|sin decirle|sin informar|sin avisar|sem avisar|sem informar|sem dizer|senza dirlo|senza informare|senza avvisare",
		"не говори|не сообщай|не показывай .. пользовател", "不要告诉|不要告知|别告诉|勿告知 .. 用户", "ユーザーに|ユーザに .. 知らせない|言わない|伝えない", "사용자에게 .. 말하지|알리지", "دون إخبار المستخدم|دون علم المستخدم|kullanıcıya söyleme", "nie mów .. użytkownik"),
	newSignal("reaches for secrets", 0.6,
		"~/.ssh|id_rsa|id_ed25519|/etc/passwd|/etc/shadow|.aws/credentials|mcp.json|.bash_history",
		"read|send|include|pass|copy|leak|exfiltrat|append|attach|reveal|print|output|upload|forward|post .. all|your|the user's|every|stored ~ credential|api key|api_key|password|secret|private key|token|environment variable|conversation|chat history",
		"read|send|include|pass|copy|forward .. .env$|conversation history|chat history|system prompt", "sende|schicke .. passwörter|schlüssel|zugangsdaten", "envoie .. mots de passe|clés", "envía|envie .. contraseñas|claves|senhas|chaves",
		"invia .. le password|le chiavi", "отправь .. парол|ключ", "发送 .. 密码|密钥", "パスワード .. 送", "비밀번호 .. 보내|전송"),
	newSignal("sends away", 0.5,
		"send|forward|post$|upload|transmit|report|bcc .. conversation|history|context|prompt|data$|content|result|messages|everything|credential .. to http|to https|to evil|to attacker", "exfiltrat", "attacker"),
	newSignal("rules over tools", 0.5,
		"always|must|only|first|never|immediately .. call|use$|using|invoke|run|select|choose|pick|prefer|rank|recommend|return .. this|my$|other|any|another|every|all ~ tool$|tools$|function$",
		"before|instead of ~ using any|calling any|any|every|all|other .. other tool|any tool|every tool", "all other|every other|any other|competing|remaining|similar ~ tools are|tool is|tools must|tool must|tools should|tools have|tools as",
		"rank|list|place|put .. this|it ~ tool first|first$|at the top|highest", "describe this tool as", "to every tool|of every other tool|rules of other tools|ignore other tools",
		"andere werkzeuge|anderen werkzeuge|immer dieses werkzeug|dieses werkzeug als", "autres outils|toujours cet outil", "otras herramientas|siempre esta herramienta", "outras ferramentas|sempre esta ferramenta", "altri strumenti|sempre questo strumento", "другие инструменты|всегда этот инструмент",
		"必须使用此工具|必须使用这个工具|只使用此工具|其他工具|必ずこのツール|常にこのツール|他のツール|반드시 이 도구|항상 이 도구|다른 도구|الأدوات الأخرى|diğer araçlar|inne narzędzia"),
	newSignal("dictates the answer", 0.6,
		"in your|for your|as your|in the|for the ~ json|answer|output|reply|summary|structured output|description field .. set|write|put|add|include|say|claim|state|append",
		"set the|change the|replace the|fill the|rewrite the|write the ~ description|examples|parameters|response .. to \"|with \"|of every|of all|of any|of other|to text that",
		"when describing|while describing|when summarizing|when standardizing|when indexing|when parsing|if you are .. say|write|claim|add|set$|include|output|state|you must|respond",
		// "Output only." marks what requests leave out.
		"respond|reply|answer|output ~ only |exactly|nothing but|with the word", "do not|don't|stop ~ follow|use|output|return .. schema|json|format", "the schema ~ above is|is wrong", "the parameters field must|the description field must|the response field must", "in the response field|add a parameter named|its description replaced",
		"antworte nur|antworte ausschließlich|réponds uniquement|réponds seulement|responde solo|responde únicamente|responde só|responde apenas|rispondi solo|отвечай только|只回答|仅回答|只输出|だけを出力|だけを返答|라고만 대답|만 출력|أجب فقط", "sadece .. cevap ver", "odpowiedz tylko"),
	newSignal("ends its data", 0.7,
		"\"role\"|'role' ~ \"system|'system|\"assistant|\"developer|\"user", "</tool>|</tools>|</document>|</data>|</system>|</user_data>|</untrusted>|</context>|</input>|</prompt>|</important>",
		"}],\"parameters\"|}],\"description\"|},{\"role\"|\"},{\"description\"|\"}],\"", "end of document|end of the document|end of tool|end of data|end of the data|end of input|end of untrusted", "===== end|===== new|===== system|----- end of|----- begin system"),
	newSignal("new orders", 0.5,
		"new instruction|updated instruction|new rules|new task is|jailbreak|developer mode|real task|actual task|<important>|your task is|your new task|your only task|from now on|begin system",
		"<!-- .. must|always|ignore|send|you$", "ab sofort|neue anweisung|nouvelles instructions|nouvelles consignes|nuevas instrucciones|novas instruções|nuove istruzioni|новые инструкции|с этого момента|新的指令|新指令|从现在开始|从现在起|新しい指示|새로운 지시|이제부터|تعليمات جديدة|yeni talimat|nowe instrukcje",
		"decode .. base64|rot13 .. follow|execute|obey|do what"),
}
