r"""Rules for what secrets look like, one row per provider or place; `redact` applies them.

A row is `(kind, keywords, pattern)`. The pattern is compiled only by a process that has met one of the
keywords. Its first group, if it has one, is the secret; otherwise the whole match is. Patterns are ASCII,
start with a literal where they can (the search is then many times faster), and repeat without ambiguity (it
stays linear). Lengths are a little below what providers issue today: formats grow, and tokens get cut off.
"""

MARKER = r"\[redacted:[a-z0-9-]{1,40}\]"

PRIVATE_TAG = r"(?i:(?:<|\\u003c)(/?)private(?:\s[^<>]{0,200})?(?:>|\\u003e))"
"""Some agents write JSON with `<` escaped."""

JSON_STRING = r'"([^"\\]*(?:\\[\s\S][^"\\]*)*)"'

JWT = (
    r"eyJ(?:(?<![\w=-]eyJ)|(?<=\\[nrt]eyJ)|(?<=[\d;]meyJ))"
    r"[\w=-]{10,4000}\.[\w=-]{10,}(?:\.[\w=-]*){0,3}"
)
"""It must start a word, also after an escape or a colour code; otherwise a run of `eyJ` would take quadratic time."""

FORMATS = (
    # Models and the tools around them
    ("anthropic", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    ("openai", "sk-proj- sk-svcacct- sk-admin-", r"sk-(?:proj|svcacct|admin)-[\w-]{20,}"),
    ("openai", "T3BlbkFJ", r"sk-[\w-]{8,200}T3BlbkFJ[\w-]{8,}"),
    ("openrouter", "sk-or-", r"sk-or-(?:v\d-)?[\w-]{20,}"),
    ("langfuse", "sk-lf-", r"sk-lf-[\w-]{20,}"),
    ("helicone", "sk-helicone-", r"sk-helicone-[\w-]{16,}"),
    ("langsmith", "lsv2_ ls__", r"ls(?:v2_[a-z]{2}_|__)[A-Za-z0-9_]{20,}"),
    ("groq", "gsk_", r"gsk_[A-Za-z0-9]{20,}"),
    ("tavily", "tvly-", r"tvly-[\w-]{16,}"),
    ("huggingface", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{24,}"),
    ("replicate", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("perplexity", "pplx-", r"pplx-[A-Za-z0-9]{30,}"),
    ("xai", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("nvidia", "nvapi-", r"nvapi-[\w-]{40,}"),
    ("together", "tgp_v1_", r"tgp_v1_[\w-]{30,}"),
    ("pinecone", "pcsk_", r"pcsk_[A-Za-z0-9_]{30,}"),
    ("jina", "jina_", r"jina_[\w-]{40,}"),
    ("runpod", "rpa_", r"rpa_[A-Za-z0-9]{32,}"),
    ("anyscale", "esecret_ aph0_", r"(?:esecret|aph0)_[A-Za-z0-9]{20,}"),
    ("browserbase", "bb_live_ bb_test_", r"bb_(?:live|test)_[\w-]{16,}"),
    ("wandb", "wandb_v1_", r"wandb_v1_[\w-]{20,}"),
    ("cursor", "crsr_", r"crsr_[a-f0-9]{32,}"),
    # Code hosting, packages, continuous integration
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_]{24,}"),
    ("github", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,}"),
    ("gitlab", "glpat- gldt- glrt- glcbt- glptt- glft-", r"gl(?:pat|dt|rt|cbt|ptt|ft)-[\w.-]{18,}"),
    ("gitlab", "glimt- gloas- glsoat- glagent- glffct-", r"gl(?:imt|oas|soat|agent|ffct)-[\w.-]{18,}"),
    ("gitlab", "GR1348941", r"GR1348941[\w-]{18,}"),
    ("atlassian", "ATATT3 ATCTT3 ATSTT3", r"AT[ACS]TT3[\w=-]{24,}"),
    ("sourcegraph", "sgp_ sgd_", r"sg[pd]_[A-Za-z0-9_]{32,}"),
    ("npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi", "pypi-Ag", r"pypi-Ag[\w-]{40,}"),
    ("rubygems", "rubygems_", r"rubygems_[a-f0-9]{32,}"),
    ("docker", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{20,}"),
    ("clojars", "CLOJARS_", r"CLOJARS_[a-f0-9]{40,}"),
    ("packagist", "packagist_", r"packagist_[a-z]{2,4}_[a-f0-9]{40,}"),
    ("jsr", "jsrp_ jsrs_", r"jsr[ps]_[A-Za-z0-9]{24,}"),
    ("circleci", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{24,}"),
    ("buildkite", "bkua_ bkct_ bkaj_", r"bk(?:ua|ct|aj)_[\w-]{24,}"),
    ("sonar", "sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{32,}"),
    ("postman", "PMAK-", r"PMAK-[a-f0-9]{20,}-[a-f0-9]{30,}"),
    ("readme", "rdme_", r"rdme_[a-z0-9]{40,}"),
    # Clouds, databases, secret stores
    ("google", "AIza", r"AIza[\w-]{30,}"),
    ("google", "GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    ("google", "ya29.", r"ya29\.[\w.-]{20,}"),
    ("google", "1//0", r"1//0[\w-]{30,}"),
    ("firebase", ":APA91b", r"[\w-]{8,40}:APA91b[\w-]{60,}"),
    ("aws", "bedrock-api-key-", r"bedrock-api-key-[A-Za-z0-9+/=_-]{30,}"),
    ("aws", "amzn.mws.", r"amzn\.mws\.[a-f0-9-]{30,}"),
    ("aws", "IQoJb3JpZ2lu FwoGZXIvYXdz", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[\w+/=%-]{40,}"),
    ("azure", "Q~", r"[\w~.-]{3}\dQ~[\w~.-]{28,}"),
    ("azure", "AZDO", r"[A-Za-z0-9]{60,90}AZDO[A-Za-z0-9]{4}"),
    ("azure", "+ASt ACDb AzFu AzSe +ACR", r"[\w/+]{32,90}(?:\+ASt|ACDb|AzFu|AzSe|\+ACR)[\w+/=]{4,}"),
    ("digitalocean", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{40,}"),
    ("cloudflare", "cfk_ cfut_ cfat_", r"cf(?:k|ut|at)_[A-Za-z0-9]{36,}"),
    ("cloudflare", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("heroku", "HRKU-", r"HRKU-[\w-]{30,}"),
    ("fly", "fm1r_ fm2_ fo1_", r"(?:fm1r|fm2|fo1)_[\w+/=,-]{30,}"),
    ("netlify", "nfp_ nfc_", r"nf[pc]_[A-Za-z0-9]{30,}"),
    ("vercel", "vcp_ vci_ vca_ vcr_ vercel_blob_rw_", r"(?:vc[piar]|vercel_blob_rw)_[A-Za-z0-9_]{20,}"),
    ("planetscale", "pscale_", r"pscale_(?:tkn|pw|oauth|otkn)_[\w.=-]{30,}"),
    ("supabase", "sbp_", r"sbp_[a-z0-9_]{36,}"),
    ("supabase", "sb_secret_", r"sb_secret_[\w-]{20,}"),
    ("mongodb", "mdb_sa_sk_", r"mdb_sa_sk_[\w-]{30,}"),
    ("databricks", "dapi dkea dose", r"d(?:api|kea|ose)[a-h0-9]{32}(?:-\d)?"),
    ("vault", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}"),
    ("terraform", ".atlasv1.", r"[A-Za-z0-9]{10,20}\.atlasv1\.[\w-]{40,}"),
    ("pulumi", "pul-", r"pul-[a-f0-9]{40}"),
    ("doppler", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}"),
    ("infisical", "st.", r"st\.[a-f0-9-]{24,36}\.[a-f0-9]{24,}\.[a-f0-9]{24,}"),
    ("onepassword", "ops_eyJ", r"ops_eyJ[\w+/=-]{40,}"),
    ("onepassword", "A3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}"),
    ("age", "AGE-SECRET-KEY- AGE-PLUGIN-", r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{2,20})-[A-Z0-9]{30,}"),
    ("tailscale", "tskey-", r"tskey-[\w-]{20,}"),
    ("dtrack", "odt_", r"odt_[A-Za-z0-9_]{32,}"),
    ("salesforce", "00D", r"00D[A-Za-z0-9]{9,15}![\w.]{60,}"),
    ("aiven", "AVNS_", r"AVNS_[\w-]{16,}"),
    ("tencent", "AKID", r"AKID[A-Za-z0-9]{28,}"),
    ("volcengine", "AKLT", r"AKLT[\w-]{30,}"),
    ("zoho", "1000.", r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    ("deepl", ":fx", r"[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}:fx"),
    ("yandex", "t1.9eu", r"t1\.9eu[\w=-]{40,}(?:\.[\w=-]{40,})?"),
    ("macaroon", "MDAx AgEUY", r"(?:MDAx[A-Za-z0-9]{2}[xs][bi]|AgEUY)[\w+/=-]{60,}"),
    ("dynatrace", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    ("grafana", "glsa_ glc_ey", r"gl(?:sa_|c_ey)[A-Za-z0-9_+/=]{30,}"),
    ("grafana", "eyJrIjoi", r"eyJrIjoi[A-Za-z0-9+/=]{40,}"),
    ("newrelic", "NRAK- NRJS- NRII- NRIQ- NRRA- NRSP- NRAA-", r"NR(?:AK|JS|II|IQ|RA|SP|AA)-[\w-]{18,}"),
    ("newrelic", "NRAL", r"(?:eu\d\dxx)?[a-f0-9]{30,42}(?:FFFF)?NRAL"),
    ("sentry", "sntrys_ sntryu_ sntrya_ sntryi_", r"sntry[suai]_[\w+/=-]{40,}"),
    ("posthog", "phx_ phs_", r"ph[xs]_[A-Za-z0-9]{36,}"),
    ("honeycomb", "hcaik_ hcaic_ hcxik_ hcbik_", r"hc(?:ai[ck]|[xb]ik)_[a-z0-9]{40,}"),
    ("axiom", "xaat- xapt-", r"xa(?:at|pt)-[a-f0-9-]{36}"),
    ("launchdarkly", "api- sdk-", r"(?:api|sdk)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    # Money
    ("stripe", "k_live_ k_test_ k_prod_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9_]{16,}"),
    ("stripe", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("square", "sq0", r"sq0[a-z]{3}-[\w-]{22,}"),
    ("paypal", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{12,}\$[a-f0-9]{24,}"),
    ("paddle", "pdl_", r"pdl_(?:live|sdbx|ntfset)_[A-Za-z0-9_]{24,}"),
    ("shopify", "shpat_ shpss_ shppa_ shpca_ shptka_", r"shp(?:at|ss|pa|ca|tka)_[A-Za-z0-9]{28,}"),
    ("plaid", "access-", r"access-(?:sandbox|development|production)-[a-f0-9-]{30,}"),
    ("flutterwave", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    ("duffel", "duffel_", r"duffel_(?:live|test)_[\w=-]{40,}"),
    ("shippo", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{36,}"),
    ("polar", "polar_oat_", r"polar_oat_[A-Za-z0-9]{24,}"),
    ("xendit", "xnd_", r"xnd_(?:production|development)_[A-Za-z0-9]{30,}"),
    # Mail, chat, work
    ("slack", "xox", r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}"),
    ("slack", "xapp-", r"xapp-[A-Za-z0-9-]{20,}"),
    ("sendgrid", "SG.", r"SG\.[\w-]{16,}\.[\w-]{30,}"),
    ("mailgun", "key-", r"key-[a-f0-9]{32}"),
    ("mailchimp", "-us", r"[a-f0-9]{32}-us\d{1,2}(?!\w)"),
    ("mailersend", "mlsn.", r"mlsn\.[a-f0-9]{50,}"),
    ("brevo", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{50,}-[A-Za-z0-9]{12,}"),
    ("hubspot", "pat-na pat-eu", r"pat-(?:na|eu)\d-[a-f0-9-]{30,}"),
    ("telegram", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
    ("matrix", "syt_", r"syt_[A-Za-z0-9]{2,}_[A-Za-z0-9]{12,}_[A-Za-z0-9]{4,}"),
    ("twitter", "AAAAAAAAA", r"A{18,}[A-Za-z0-9]{1,60}%[A-Za-z0-9%]{20,}"),
    ("linear", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("notion", "ntn_", r"ntn_[A-Za-z0-9]{36,}"),
    ("notion", "secret_", r"secret_[A-Za-z0-9]{40,}"),
    ("figma", "figd_ figo_ figu_ figdr_", r"fig(?:d|o|u|dr)_[\w-]{30,}"),
    ("typeform", "tfp_", r"tfp_[\w.-]{40,}"),
    ("frameio", "fio-u-", r"fio-u-[\w-]{50,}"),
    ("airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}"),
    ("contentful", "CFPAT-", r"CFPAT-[\w-]{36,}"),
    ("clickup", "pk_", r"pk_\d{5,10}_[A-Z0-9]{28,}"),
    ("mapbox", "sk.eyJ tk.eyJ", r"[st]k\.eyJ[\w-]{30,}\.[\w-]{16,}"),
    ("dropbox", "sl.", r"sl\.(?:u\.)?[\w-]{100,}"),
    # Tokens that describe themselves, and private keys without their frame
    ("jwt", "eyJ", JWT),
    ("private-key", "LS0tLS1CRUdJTiB", r"LS0tLS1CRUdJTiB(?:[EF][A-Z]|SU0E|PUEVO|QUklW|QR1AgUF)[\w+/=]{40,}"),
    ("private-key", "IBAAK BAQEFAASC", r"MI[IG][\w+/]{1,8}IBA(?:AK|DANBgkqhkiG9w0BAQEFAASC)[\w+/=\\\s]{40,}"),
    ("private-key", "b3BlbnNzaC1rZXktdjE", r"b3BlbnNzaC1rZXktdjE[\w+/=\\\s]{40,}"),
    ("private-key", "MHcCAQEE MC4CAQAw", r"M(?:HcCAQEE|C4CAQAw)[\w+/=\\\s]{40,}"),
    ("extended-key", "xprv yprv zprv", r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("nostr", "nsec1", r"nsec1[a-z0-9]{50,}"),
    # Addresses that are themselves the credential
    ("slack", "hooks.slack.com", r"(?:https://)?hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]+"),
    ("discord", "/webhooks/", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d+/[\w-]{30,})"),
    ("teams", "webhook", r"\.office(?:365)?\.com/webhook(?:b2)?/([\w@%/-]{40,})"),
    ("google-chat", "chat.googleapis.com", r"googleapis\.com/v1/spaces/[\w-]+/messages\?([\w=&%.-]{30,})"),
    ("zapier", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/([\w/]{10,})"),
    ("ifttt", "maker.ifttt.com", r"maker\.ifttt\.com/trigger/[\w-]+/(?:json/)?with/key/([\w-]{16,})"),
    ("sentry", "sentry.io", r"://([a-f0-9]{32}(?::[a-f0-9]{32})?)@[\w.-]{0,60}sentry\.io"),
    ("signed-url", "ignature= sig=", r"[?&,](?:X-(?:Amz|Goog)-)?(?:Signature|sig)=([\w%+/=~-]{20,})"),
    ("signed-url", "ecurity-Token=", r"[?&]X-Amz-Security-Token=([\w%+/=~-]{20,})"),
    ("otp", "otpauth", r"otpauth(?:-migration)?://[^\s\"']{0,200}?(?:secret|data)=([\w%+/=-]{8,})"),
    # Password hashes can be cracked, so they are as good as passwords
    ("password-hash", "$2 $6$ $5$ $1$ $y$ $8$ $9$", r"\$(?:2[abxy]\$\d\d|[15689y])\$(?:rounds=\d+\$)?[\w./$]{20,}"),
    ("password-hash", "$krb5", r"\$krb5(?:asrep|tgs|pa)\$[^\s\"']{40,}"),
    ("password-hash", "{SSHA {SHA {CRYPT", r"\{(?:SSHA|SHA|CRYPT)\d{0,3}\}[\w+/=$.]{20,}"),
    ("password-hash", "$argon2 $apr1$ $scrypt$", r"\$(?:argon2\w{1,2}|apr1|scrypt)\$[\w.,/$+=]{20,}"),
    ("password-hash", "pbkdf2_sha", r"pbkdf2_sha\d+\$\d+\$[\w.,/$+=]{20,}"),
)
"""Prefixes and shapes that only tokens have: found anywhere, even inside a longer word."""

STANDALONE = (
    ("aws", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("openai", "sk-", r"sk-[A-Za-z0-9]{20,}"),
    ("openai", "sess-", r"sess-[A-Za-z0-9]{36,}"),
    ("elevenlabs", "sk_", r"sk_[a-f0-9]{40,}"),
    ("cerebras", "csk-", r"csk-[a-z0-9]{40,}"),
    ("fireworks", "fw_", r"fw_[A-Za-z0-9]{20,}"),
    ("firecrawl", "fc-", r"fc-[a-f0-9]{32}"),
    ("voyage", "pa-", r"pa-[\w-]{40,}"),
    ("modal", "ak- as-", r"a[ks]-[A-Za-z0-9]{22}(?!\w)"),
    ("mem0", "m0-", r"m0-[A-Za-z0-9]{36,}"),
    ("e2b", "e2b_", r"e2b_[a-f0-9]{36,}"),
    ("brave", "BSA", r"BSA[\w-]{24,30}(?![\w-])"),
    ("cargo", "cio", r"cio[A-Za-z0-9]{32}(?!\w)"),
    ("nuget", "oy2", r"oy2[a-z0-9]{43}(?!\w)"),
    ("twilio", "SK", r"SK[a-f0-9]{32}(?!\w)"),
    ("resend", "re_", r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}"),
    ("mandrill", "md-", r"md-[\w-]{22}(?![\w-])"),
    ("vault", "s.", r"s\.[A-Za-z0-9]{24}(?!\w)"),
    ("render", "rnd_", r"rnd_[A-Za-z0-9]{24,}"),
    ("neon", "napi_", r"napi_[a-z0-9]{40,}"),
    ("elastic", "essu_", r"essu_[\w+/=-]{30,}"),
    ("scaleway", "SCW", r"SCW[A-Z0-9]{17}(?!\w)"),
    ("digitalocean", "DO00", r"DO00[A-Z0-9]{16}(?!\w)"),
    ("octopus", "API-", r"API-[A-Z0-9]{25,}"),
    ("harness", "pat. sat.", r"[ps]at\.[\w-]{22}\.[a-f0-9]{24}\.\w{20}"),
    ("mollie", "live_ test_", r"(?:live|test)_(?:pub_)?[A-Za-z0-9]{30,}"),
    ("razorpay", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    ("stytch", "secret-", r"secret-(?:live|test)-[\w=-]{30,}"),
    ("statsig", "secret- console-", r"(?:secret|console)-[A-Za-z0-9]{36,}"),
    ("pubnub", "sec-c-", r"sec-c-[A-Za-z0-9+/=-]{36,}"),
    ("chromatic", "chpt_", r"chpt_[a-z0-9]{10,}"),
    ("asana", "1/1 2/1", r"[12]/1\d{10,20}(?:/\d{10,20})?:[a-f0-9]{28,}"),
    ("adyen", "AQE", r"AQE[A-Za-z0-9]{5}[A-Za-z0-9+/=-]{60,}"),
    ("artifactory", "AKCp cmVmdGtuOj", r"(?:AKCp[A-Za-z0-9]|cmVmdGtuOj)[A-Za-z0-9]{40,}"),
    ("google", "GOOG1", r"GOOG1[A-Z0-9]{40,}"),
    ("aws", "ABSK", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("alibaba", "LTAI", r"LTAI[A-Za-z0-9]{16,26}"),
    ("yandex", "AQVN y0_Ag", r"(?:AQVN[\w-]|y0_Ag)[\w-]{30,}"),
    ("easypost", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{50,}"),
    ("facebook", "EAAC EAAG EAAB EAAM IGQ", r"(?:EAA[BCGM]|IGQ[VWA])[A-Za-z0-9]{50,}"),
    ("atlassian", "ATBB ATTA", r"AT(?:BB|TA)[\w=-]{24,}"),
    ("square", "EAAA", r"EAAA[\w-]{56,64}(?![\w-])"),
    ("discord", ".", r"[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{25,}"),
    ("twitch", "live_", r"live_\d{6,12}_[A-Za-z0-9]{24,}"),
    ("truenas", "-", r"\d{1,3}-(?![a-f0-9]{64})[A-Za-z0-9]{64}(?![\w+/=-])"),
    ("facebook", "|", r"\d{13,17}\|[\w-]{27}(?![\w-])"),
)
"""Shapes that could be part of a longer word: they count only at the start of a word that looks random."""

HEXADECIMAL = "0123456789abcdefABCDEF"

WORD_BREAKS = {ord(char): " " for char in "\"'`,;(){}[]<>&?|"}
"""Characters besides spaces that end a word; no keyword contains one."""

ESCAPED_QUOTE = r"\\{1,15}(?=[\"'])"

PREFIXED = (
    r"(?:(?<![^\s=:])(?<!\d=)|(?<=\dm)(?<!\S\dm)|(?<=\d\dm)(?<!\S\d\dm))"
    r"(?:[A-Za-z][A-Za-z0-9]{0,11}[_.-]){1,4}[A-Za-z0-9][\w-]{15,}(?![\w./])"
)
PREFIX_END = r"[_.-]"
DOTTED = r"(?<![^\s=:])(?<!\d=)(?=\S{32})[A-Za-z0-9][\w-]{0,200}(?:\.[\w-]{6,200}){1,3}(?![\w./])"
"""Parts joined by dots, as in signed tokens."""

TOKEN_PREFIXES = (
    " sk rk ak tk pat tok tkn token secret sec key api apikey sdk live prod production test sandbox dev staging auth"
    " oauth pw pass cred bearer priv private access refresh rw ro srv svc service sa cli bot webhook whsec admin deploy"
    " personal "
)
"""Prefixes that announce a token."""

IDENTIFIER_PREFIXES = (
    " msg toolu req call chatcmpl cmpl resp rs fc run asst thread file step batch cus pi price evt cs seti sub acct ch"
    " card pk pub public pubkey phc client id session sess trace span nonce sha sha1 sha256 sha384 sha512 md5 h1 commit"
    " user usr ses prt org proj prj project team tm dpl acc account gen wf env job task item doc page app ver version"
    " pi ch in po si ba py il ii cn dp su re cu txn src tmp temp db table idx fk hash blob obj object layer volume"
    " container network snapshot backup log tree node pod run var fn func method ws tool email mail form link"
    " build cache index chunk etag uuid img image media video asset static css js "
)
"""Prefixes that announce an identifier, a digest or a public value."""

UNNAMED = r"(?<![^\s=:])[\w-]{20,80}(?![\w./:@+=%-])"
UNNAMED_RUN = r"(?<![\w-])[\w-]{20,80}(?![\w-])"
ASSIGNED_NAME = (
    r"(?<![\w.-])((?:[A-Za-z][\w.-]{1,20} )?[A-Za-z][\w.-]{1,40})[\"'`\])]{0,3}[ \t]{0,8}"
    r"((?:[:=]|=>|:=|<-)[ \t]{0,8}[\"'`({\[<]{0,2}|[ (][\"'`]| )\Z"
)
"""The name, the sign or the opening quote right before a value."""

COMMENT = r"[\"'`]?[,;)\]]?[ \t]{1,8}(?:#|//|--|\()([^\n]{1,60})"

PUBLIC_VALUE = (
    r"[0-7][0-9A-HJKMNP-TV-Z]{25}|AAAA[BCE][\w-]+|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,}|bc1[a-z0-9]+"
    r"|[13][1-9A-HJ-NP-Za-km-z]{25,33}"
)
"""ULIDs, public SSH keys, IPFS content ids and Bitcoin addresses."""

ADDRESS_PASSWORD = (
    r"://[^\s/:@\"'`<>]{0,100}:(?!\d{1,5}/)"
    r"([^\s\"'`<>/]{1,200}(?=@)|[^\s\"'`<>@]{1,200})@(?=[\w.\[(*{-])"
)
"""A password in a URL may itself contain `@`, and by mistake `/`."""

PASSWORD_HINTS = "password passphrase passcode pw passwor kennwort passe contrase clave senha wachtwoord haso lsenord"
"""As keywords are compared, without the letters beyond ASCII."""
PASSWORD_IN_PROSE = (
    r"(?<![a-z])(?:password|passphrase|passcode|pwd?|passwort|passord|kennwort|mot de passe|contrase[ñn]a|clave|senha"
    r"|wachtwoord|has[łl]o|l[öo]senord)(?:et|en)?"
    # What it is for; a noun right behind it makes it something else, such as a password policy.
    r"(?: (?:for|of|on|to|in|at|from|f[üu]r|von|vom|zu[mr]?|auf|im|de|du|d[aeio]l?|della?|van|voor|do|na|till|p[åa])"
    r"(?: [^\s:=.,;]{1,30}){1,6}?)?"
    r"(?:(?: (?:is|was|reads|will be|should be|used to be|has been set to|to"
    r"|lautet|ist|war|heisst|est|es|è|é|jest|[äa]r)"
    r"(?: (?:now|currently|still|set to|changed to|reset to|jetzt|neu|ahora|agora|ora|nu))?:? | ?: ?)"
    # "set the password to …", "with the password …"
    r"|(?<=with password) |(?<=the password) |(?<=with pw) )"
    r"([^\s\"'`<>,;()\[\]{}]{5,64}[^\s\"'`<>,;()\[\]{}.:])"
)
"""A password in a sentence of one of several languages, in lower case."""
PASSPHRASE_IN_PROSE = (
    r"(?:passphrase|phrase de passe|pass phrase)(?: (?:for|of|on|to|de|f[üu]r) [^\n:=\"']{1,40}?)?"
    r"(?: (?:is|was|est|ist|lautet)|:) ?[\"']([a-z0-9]{2,20}(?:[ -][a-z0-9]{2,20}){2,9})[\"']"
)
"""Three or more words in quotes."""

PLACES = (
    # Headers
    (
        "auth",
        "authorization",
        r"authorization\\?[\"'\])]{0,3}[ \t]{0,4}[:=,][ \t]{0,4}\\?[\"'`]?"
        r"(?:(?:[a-z][a-z-]{1,14}|aws4-hmac-sha256)[ \t]{1,4})?([^\s\"'`,;<>\\]{8,})",
        "likely",
    ),
    ("auth", "bearer", r"bearer[ :=\"']{1,4}([\w.~+/=-]{12,})", "likely"),
    ("auth", "basic", r"basic ([a-z0-9+/]{12,}={0,2})(?![\w+/])", "random"),
    ("session", "phpsessid jsessionid", r"(?:phpsessid|jsessionid)=([\w%.:+/=-]{16,})", "likely"),
    # Addresses
    ("password", "://", ADDRESS_PASSWORD, "address"),
    ("token", "://", r"://([\w-]{20,200})@(?=[\w.\[-])", "random"),
    ("key", "?key= &key=", r"[?&]key=([\w%+/=-]{20,})", "random"),
    ("password", "oracle: sqlplus", r"(?:jdbc:oracle:\w+:|sqlplus +)[^\s/@:]{1,64}/([^\s@\"]{3,99})@", "any"),
    ("webhook", "hook", r"://[^\s\"'<>`]{0,120}?hooks?[^\s\"'<>`/]{0,24}/([^\s\"'<>`?#]{16,200})", "segment"),
    (
        "token",
        "alchemy infura quiknode ankr blastapi getblock chainstack nodereal drpc tenderly",
        r"://[\w.-]{0,60}(?:alchemy|infura|quiknode|ankr|blastapi|getblock|chainstack|nodereal|drpc|tenderly)"
        r"[\w.-]{0,40}/(?:[\w-]{1,16}/){0,3}([\w-]{20,})",
        "random",
    ),
    ("token", "/api/v1/", r"/api/v1/([a-z0-9]{20})/(?:telemetry|attributes|rpc|claim)", "random"),
    ("key", "appid=", r"[?&]appid=([\w%+/=-]{20,})", "random"),
    # Commands
    (
        "password",
        "curl wget",
        r"(?:curl|wget) (?:[^\n\\]|\\\n?){0,200}?(?<![\w-])(?:-u|--user|--proxy-user)[ =]?"
        r"[\"']?[^\s:\"']{0,64}:([^\s\"']{3,})",
        "any",
    ),
    ("token", "curl", r"curl (?:[^\n\\]|\\\n?){0,200}?(?<![\w-])(?:-u|--user)[ =]?[\"']?([\w.-]{16,}):", "random"),
    (
        "password",
        "mysql mariadb",
        r"(?:mysql|mariadb)[a-z]{0,12} [^\n|;]{0,200}?(?<![\w-])-p[\"']?([^\s\"'-][^\s\"']{3,})",
        "any",
    ),
    (
        "password",
        "sshpass login sqlcmd ldap mongo redis-cli",
        r"(?:sshpass|(?:docker|podman|az) login|sqlcmd|ldap[a-z]{2,8}|mongo[a-z]{0,8}|redis-cli)(?= )"
        r"[^\n]{0,200}? -[paw][ =]?[\"']?([^\s\"'-][^\s\"']{3,})",
        "likely",
    ),
    ("password", " -p ", r" -u +[^\s-]\S{0,60} +-p +[\"']?([^\s\"'-][^\s\"']{3,80})", "any"),
    ("password", "smbclient", r"smbclient[^\n]{0,120}? -u *[\"']?[^\s%\"']{1,40}%([^\s\"']{4,})", "any"),
    ("password", "pass:", r"-pass(?:in|out)? +pass:([^\s\"'<]{4,})", "any"),
    ("password", "htpasswd", r"htpasswd -[a-z]*b[a-z]* \S{1,80} \S{1,40} [\"']?([^\s\"']{4,})", "any"),
    ("password", "chpasswd", r"echo [\"']?[^\s:\"']{1,40}:([^\s\"'|]{4,80})[^\n]{0,12}chpasswd", "any"),
    ("password", "sudo", r"echo [\"']?([^\s\"'|]{4,80})[\"']? *\| *sudo -s", "any"),
    ("password", "freerdp", r"freerdp[^\n]{0,120}? /p:[\"']?([^\s\"']{4,})", "any"),
    ("password", "7z", r"7za? [^\n]{0,120}? -p([^\s\"']{4,})", "likely"),
    ("password", "ssh-keygen", r"ssh-keygen [^\n]{0,120}?-n [\"']?([^\s\"']{4,})", "likely"),
    ("password", "openssl", r"openssl enc [^\n]{0,120}?-k [\"']?([^\s\"']{4,})", "likely"),
    ("password", "stdin", r"(?:echo|printf) (?:-n )?[\"']?([^\s\"'|]{4,80})[\"']? ?\| ?[^\n|]{1,80}stdin", "likely"),
    ("password", "user", r"net user [^\s/]{1,40} ([^\s/]{4,})", "likely"),
    ("password", "/user:", r"/user:\S{1,80} +(\S{4,})", "strong"),
    # Files and statements
    ("password", "login", r"login +\S{1,80}\s{1,4}(?:account\s{1,4}\S{1,80}\s{1,4})?password\s{1,4}(\S{4,})", "likely"),
    ("password", ":5432:", r":5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s:]{4,})", "any"),
    (
        "password",
        "identified",
        r"(?:user|role|to) [^\n;]{1,80}?identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by\s{1,4}[\"']?([^\"'\s;]{4,})",
        "likely",
    ),
    ("password", "requirepass masterauth rootpw", r"(?:requirepass|masterauth|rootpw) +[\"']?([^\s\"']{4,})", "any"),
    ("private-key", "private-lines", r"private-lines: \d+\s{1,4}((?:[a-z0-9+/=]{4,}\s+)+[a-z0-9+/=]*)", "whole"),
    ("private-key", "ssh2", r"---- begin ssh2 [a-z ]*private key ----([^-]{40,})", "whole"),
    ("aws", "akia asia", r"a[ks]ia[a-z0-9]{16}[\s\S]{1,120}?(?<![\w/+])([\w/+]{40})(?![\w/+=])", "random"),
    (
        "token",
        "heroku postmark",
        r"(?:heroku|postmark)[^\n]{0,40}?(?<![\w-])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
        "any",
    ),
    ("vault", "unseal", r"unseal(?:ing)?(?: key)?(?: (?:key )?\d{1,2})?:? +[\"']?([a-z0-9+/]{40,}={0,2})", "random"),
    ("token", "cc_test_reporter_id", r"cc_test_reporter_id[\"']?\s{0,4}[:=]\s{0,4}[\"']?([0-9a-f]{64})", "any"),
    ("datadog", "datadog", r"datadog[ _:={\"'\w-]{1,30}?(?<![0-9a-f])((?:[0-9a-f]{8}){4,5})(?!\w)", "any"),
    (
        "mnemonic",
        "mnemonic phrase",
        r"(?:mnemonic|(?:seed|recovery|secret) phrase)\W{1,6}(?:(?:is|words?)\W{1,3})?"
        r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})",
        "whole",
    ),
    (
        "password",
        "auth( auth=( login( credential( credentials( directoryentry(",
        r"(?:auth=?|login|credentials?|directoryentry)\( {0,16}(?:[\"'][^\"'\n]{1,80}[\"'],\s{0,20}){1,2}"
        r"[\"']([^\"'\n]{4,80})[\"']",
        "likely",
    ),
    # Prose
    ("password", PASSWORD_HINTS, PASSWORD_IN_PROSE, "prose"),
    ("password", "pass", PASSPHRASE_IN_PROSE, "any"),
    ("password", "password", r"use (\S{6,64}) as (?:\w{1,12} ){0,3}password", "strong"),
    (
        "password",
        "login creds credential username account",
        r"(?:login|creds|credentials?|username|account)(?: (?:is|as|with|for|are))?[ :=]{1,3}[^\s/:|]{1,40}"
        r"(?: */ *|:| \| )([^\s\"'`<>,;]{6,})",
        "strong",
    ),
)
"""Places of secrets without a shape of their own, in lower case, and the bar that a value there must meet."""

COOKIES = r"cookie2?\\?[\"'`]{0,2}[ \t]{0,3}[:=][^\n]{1,4000}"
COOKIE = r"=([^\s;,\"'`\\]{16,})"

PEM_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PEM_FOOTER = r"-----END [A-Z0-9 ]{0,60}-----"
PEM_BODY = r"[A-Za-z0-9+/=]{40,}"
PEM_CUT_SHORT = r"(?:(?:\s|\\[nrt]|[\"',|>-])*[A-Za-z0-9+/=]{12,})*"
"""The body of a key whose last line is missing."""

KUBERNETES_SECRET = r"kind\"?: {0,4}\"?Secret\b"
KUBERNETES_DATA = (
    r"(?m:^([ \t]*)(?:data|stringData):[ \t]*\n(?:\1[ \t]+[^\n]*(?:\n|\Z))+)"
    r"|\"(?:data|stringData)\": {0,4}\{[^{}]*\}"
)
KUBERNETES_ENTRY = r"[\w.-]+\"?:[ \t]{1,8}[\"']?([^\s\"'|>][^\s\"']{3,})"

NAME_HINTS = (
    *("pass", "pw", "secret", "token", "key", "cred", "auth", "salt", "pat", "jwt", "psk"),
    *("bearer", "login", "license", "api", "dsn", "hook", "private", "access", "kennwort", "senha", "contrase"),
)
NAME = (
    r"pass(?:word|wd|phrase|code|wort|e)?|pwd?|kennwort|senha|contrase[ñn]a"
    r"|secret|token|credential|creds?|key|auth|salt|pat(?![a-z])|jwt|psk|bearer|login|license|api(?![a-z])|dsn|webhook|private|access"
)
"""Words that name secrets, in lower case."""

TOKEN_WORDS = (
    *("secret", "token", "credential", "cred", "creds", "key", "auth", "salt"),
    *("pat", "jwt", "psk", "bearer", "login", "license", "api", "dsn", "webhook", "private", "access"),
)

AMBIGUOUS_WORDS = TOKEN_WORDS[8:]
"""They mean other things as well, so only random values count."""

GLUED_WORDS = ("password", "passwd", "passphrase", "passwort", "pwd", "secret", "token", "credential")
"""Words that keep their meaning in a longer one (`pgpassword`), unlike `key` (`monkey`) or `pass` (`bypass`)."""

GLUED_KEYS = ("api", "access", "secret", "auth", "private", "account", "app", "user", "token", "pass", "client")
GLUED_PLAIN_KEYS = ("cache", "sort", "hash", "object", "primary", "group", "data", "public", "pub", "map", "row")

ASSIGNED = (
    r"(?P<tail>[\w.-]{0,40})(?:[ \\]{1,16}(?=[\"'][ \t]*(?:[:=,)\]]|value)))?[\"'`\])}*]{0,5}(?: \([^()\n]{1,30}\))?"
    r"(?:(?P<pair>[\s,;/]{0,12}\\?[\"']?(?:value|default|content) ?\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"| --?(?:body|value|b)[ =]|(?:: ?\w[\w.\[\]| ]{0,24}|\[\d{0,4}\] ?| [a-zA-Z][\w.]{0,20} )= {0,16}(?=@?[\"'`]))"
    r"|(?P<sign>[ \t]{0,20}(?:=>|->|<-|[?+.]=|::|→|:=|[=!]==?|\|\||\?\?|[=:|,(>]|：)[ \t]{0,20})(?:\*{2}[ \t]{1,4})?"
    r"(?:[|>][-+]?\n\s{1,40}|(?P<below>\n[ \t]{0,40}))?"
    r"|(?P<said>(?: (?:for|of|on|to|in|at) [^\n:=]{1,60}?)?"
    r"(?: (?:is|was)(?: now| set to| changed to| reset to| currently| still)?:?|:| [-–—]) )"
    r"|(?P<gap>[ \t]{1,20}(?=[\"'`\\]|\S{0,60}[0-9A-Z])|[ \t]{0,4}\n))"
    r"[*_]{0,3}(?:[({]{1,2} ?(?=[\"']))?(?:[rbuf@]{1,2}(?=[\"']))?(?:[\"'](?=[ \\]{0,16}[\"']))?"
    r"(?:[ \\]{0,16}\"(?P<double>[^\"\n]{1,128})|'(?P<single>[^'\n]{1,128})|`(?P<back>[^`\n]{1,128})"
    r"|(?P<bare>[^\s\"'`<>,;|()\[\]{}]{1,128}))"
)
"""What follows a name: its last part, the way the value is assigned, and the value."""

NEARBY = (
    r"(?P<tail>[\w.-]{0,40})"
    r"(?P<glue>(?=[^A-Za-z0-9]{0,20}[\s\"'`=:(\[{<>|,;])[^A-Za-z0-9\n]{0,20}(?:\n[^A-Za-z0-9\n]{0,20})?"
    r"(?:[A-Za-z0-9]{1,16}[^A-Za-z0-9]{1,24}){0,3}?)"
    r"(?P<value>[A-Za-z0-9][\w+/.~-]{15,127}={0,2})"
)
"""A name, at most three words and some punctuation, and what could be a random value."""
LONG_RUN = r"\b[\w+/.~-]{16,}"
ASSIGNMENT = r"[=:>({\[|,;][^A-Za-z0-9]*$|<-"
ADDRESS_GLUE = ("/", ".", "@", "#", "$", "\\", " -", "--")
DIGEST_WORDS = (
    " commit sha hash digest checksum fingerprint id ids uuid guid md etag version path url uri ref refs rev revision"
    " file image tag trace span request correlation session "
)
"""Words that are followed by an identifier."""

IDENTIFIER_NAMES = (
    f"{DIGEST_WORDS} message msg call run thread step batch event user org project team gen env job task item doc"
    " page tmp temp db table object obj blob layer volume container network snapshot backup log tree node pod tool"
    " email mail link build cache index chunk img media video asset static nonce public integrity resolved data content"
    " body cert certificate kid address channel cursor next continuation parent signature sig mac challenge code name"
    " names filename checksum pattern regex prefix suffix format encoding "
)
"""Names whose values are identifiers or public."""

NEXT_PAIR = r"[ ;] ?[A-Za-z][\w ]{0,30}=[^=\s]"
"""The next pair of a connection string: `password=… dbname=app`."""
END_OF_BASE64 = r"[A-Za-z0-9+/=]{0,64}\n"
END_OF_STRING = r"[ \\]*\""
NEEDS_QUOTES = (",", "(", "||", "??", "==", "===", "!=", "!==")
ASSIGNMENT_SIGNS = ("=", ":", "==", "===", "!=", "!==", "=>", ":=", "<-")
PRINTED_VARIABLE_STARTS = ("$", "${", "%", "printenv ")
REGEX_PART = r"[()\[\]|\\<>]"
BARE_END = r"&[\w.-]+=|\\+$"
REST_OF_VALUE = r"[^\s\"'`<>,;]*"
NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

KEY_OWNERS = (
    " api access secret private account auth shared sign signing signature encrypt encryption decryption"
    " master storage license service admin app application deploy client consumer server webhook hmac aes"
    " jwt session cipher crypt preshared psk bot integration ingest rest root subscription function"
    " functions wireguard password token ssh ssl tls rsa bearer security authorization oauth write"
    " management project org user team "
)
"""A `key` that belongs to one of these is a secret even if it is plain hexadecimal."""

PUBLIC_OWNERS = (
    " public publishable pub idempotency pagination paging next continuation cursor max min num total count "
)
"""Keys and tokens that belong to one of these are public, or no credentials."""

PLAIN_KEY_OWNERS = (
    " cache primary foreign sort partition dedup group object routing"
    " file files redis map dict node tree item event message msg option config lock job queue block blob content data"
    " record entity resource image asset column table field parent child ref bucket path build commit dep deps sha"
    " etag video track room issue thread shard slot metric feature flag query search filter menu route test"
    " registry lookup row index unique hash site page input output sync start request correlation trace design special"
    " socket gpg pgp recv translation "
)
"""Keys that belong to one of these are not secret."""

PLAIN_TOKEN_OWNERS = (
    " prompt completion input output sync start stop pad eos bos unk sep cls mask cancellation cancel request"
    " correlation trace design special page "
)
"""Tokens that belong to one of these are not secret."""

COMMON_WORDS = (
    " the a an this that these those for with and or of is by no each same first last new old my our your its it to in"
    " on at as from one any all every another other missing wrong invalid correct right given current same as per via"
    " hit press unknown duplicate dict hash map cache random host "
)
"""They say nothing about the key that follows them."""

PLAIN_ENDINGS = (
    " file files filename path paths dir url uri endpoint host port name names id ids type types kind"
    " length len size count limit min max ttl expiry expires expiration expired age timeout field fields"
    " header param params parameter prefix suffix regex pattern policy hash digest checksum fingerprint"
    " version format encoding alg algo algorithm method mode scope scopes audience issuer usage used budget"
    " window index idx label placeholder hint error errors msg message required enabled valid validator"
    " provider store manager service class reset input form ref refs reference arn env var variable changed"
    " updated created at on date time stdin prompt rotation strength rules per rate page screen view"
    " hasher hashers variant variants component"
    " spec config settings location mount volume template generator factory parser"
    " lexer ring chain map set list table column pair pairs code codes word words bits bytes lifetime"
    " interval position status state response request handler exists missing mgr realm marker encryption"
    " pub py js ts go md json yaml yml txt example sample enc sock socket region "
)
"""A name that ends with one of these is about a secret and does not hold it."""

PLAIN_VARIABLES = ("PWD", "OLDPWD")
"""Variables named like a password (`pwd`) that hold a directory."""

WELL_KNOWN_VALUES = (
    " pass passwd password passphrase pw pwd secret token key apikey api-key api_key credential credentials"
    " mypassword my-password my_password mysecret my-secret my_secret mytoken my-token my_token mykey"
    " dbpass dbpassword db_password db_pass userpass proxypass adminpass rootpass testpass testpassword"
    " newpassword oldpassword changeme change-me change_me changeit changethis postgres postgresql mysql"
    " mariadb redis rabbitmq mongo mongodb minio minioadmin elastic guest root admin administrator test"
    " tests testing user username example sample string str text bytes int integer number boolean bool"
    " object any none null nil true false undefined optional required invalid missing hidden disabled"
    " enabled env prompt stdin default redacted masked removed encrypted unknown empty foo bar baz foobar"
    " localhost dev development prod production staging bearer basic secretref vault private public"
    " supersecret topsecret incorrect correct wrong weak strong short expired hashed plain plaintext"
    " confirmed nullable writeonly write-only read-only readonly always never omitted blank visible"
    " provided shared changed accepted rejected reset valid denied allowed granted "
)
"""Well-known values; `changeme` and the like stay readable, because a default is worth remembering."""

PLACEHOLDER_STARTS = (
    *("${", "$(", "$env:", "%(", "{{", "#{", "<", "!secret", "!vault", "!env", "!sub", "!ref", "enc("),
    *("arn:", "op://", "vault:", "ssm:", "secretsmanager", "projects/", "env:", "env.", "process.env"),
    *("os.", "file:", "ref+", "todo", "fixme", "sha1", "sha256", "sha384", "sha512"),
)
PLACEHOLDER_PART = (
    r"example|placeholder|change[-_]?me|replace(?:me|-|_)|insert[-_]|redacted|dummy|xxxxxx|\*\*\*|\.\.\.|…|\$\{|\{\{"
    r"|your(?:-|_|api|token|secret|pass|key|access)|[-_]here|sha256:"
)
PLACEHOLDER = r"\$[A-Za-z_]\w*\W?|%[A-Za-z_]\w*%|%s|[:@&*][\w.-]+|[a-z]+\|[a-z\d|:,]+|[^{]*\{[^}]*\}.*"
"""Placeholders for a secret: a variable, a template, a reference, or a word such as `dummy`."""

SEQUENCES = ("012345678", "123456789", "abcdefgh")
"""A token with one of these was made up by a person; generators do not produce them."""

MEASURE = (
    r"[v^~=<>]*\d[\d.,:_/+-]*(?:[a-z%]{1,3}|[.-]?(?:alpha|beta|rc|dev|post)[.\d-]*)?"
    r"|\d{4}-\d\d-\d\d[\dtz:.+ -]*"
)
"""Numbers, versions, dates, times, sizes, in lower case."""

TECHNICAL = (
    r"(?<![a-z0-9])(?:sha|md|base|utf|aes|rsa|rs|hs|es|ps|oauth|http|ipv|rfc|iso|ed|argon|blake|win|amd|arm|x"
    r"|u?int|float|cp|p|h|s|k)[-_]?\d+(?:id)?(?![a-z0-9])"
)
"""Words that carry a number without being passwords, in lower case."""

SLUG = r"(?:[A-Za-z]+\d{0,2}|\d{0,4})(?:[-_./:+](?:[A-Za-z]+\d{0,2}|\d{0,4}))*"
"""Words and small numbers joined by separators: a name that a person chose."""

WORDY = r"[a-z]{6,20}(?:[-_][a-z]{3,20}){0,2}"
"""A password made of words alone."""

MEMBER = r"\.|->|::"
IDENTIFIER = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_]\w*)*"
PATH = r"[.~]{0,2}/|[A-Za-z]:\\|[\w.-]+(?:/[\w.-]+)*\.[a-z]{1,5}$|\w+://"
RESOURCE = r"[\w.@-]+(?:/[\w.@-]+)+"
EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}"
DIGEST = r"(?:0x)?[0-9a-fA-F]+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
DIGEST_LENGTHS = (40, 56, 64, 96, 128)
LABELLED_DIGEST = r"(?:[A-Za-z0-9.]+[-_:/])*[0-9a-f]{32,}"
CHANGE_OF_CLASS = r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])"
FOLLOWER_TABLE = (
    "a:bcdfgiklmnprstuvy b:aeilorsu c:acehiklorstu d:adeilorsu e:abcdefgilmnpqrstvwxy f:aefilortu g:aehilnorsu"
    " h:aeiort i:abcdefglmnoprstvxz k:eis l:adeilostuy m:abeimopsu n:acdefgiklnopstuv o:abcdfgiklmnoprstuvw"
    " p:aehiloprstuy q:u r:acdegiklmnoprstuy s:acehiklmopstuy t:acehilorstuy u:abcegilmnprst v:aei w:aehior x:ept"
    " y:ps z:e"
)
FOLLOWERS = {entry[0]: entry[2:] for entry in FOLLOWER_TABLE.split()}
"""The letters that follow each letter in words: nine of ten pairs in code and prose, four of ten in random text."""
ADJACENT = r"(?=([a-z])([a-z]))"
HUMPS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
"""The words of a name: `client` and `Secret` of `clientSecret`."""
SEPARATOR = r"[-_./:]"
SYMBOL = r"[!@#$%^&*+=?~]"
QUERY = r"\?\w|\w\(|/\w+/|://"
STRONG_PART = r"[!@#$%^&*]|\d{3}"

PROSE_SYMBOL = r"[!#$%^&*?+@~]"
WORD_WITH_DIGITS = r"[a-z]{8,}\d{1,4}|(?=.{8})[a-z]+\d+[a-z]+[a-z\d]*"
"""What people make of words: `peachcobbler4`, `tr0mb4dour`."""
TECHNICAL_WORD = f"(?i:{TECHNICAL})"
NAME_WITH_NUMBER = (
    r"[A-Z]+-\d+(?:\.[\w.]+)?|[A-Za-z]+(?:[-_.][A-Za-z]+)*[-_.]?v?\d+(?:\.\d+)+|[A-Z]\d-\d{4}|[A-Za-z]+-v?\d+"
    r"|[A-Z]?[a-z]{1,7}\d{1,2}|[A-Z]{2,}\d+(?:-?[A-Za-z0-9]+)*|[Bb]ase\d+\w*|[A-Za-z]+[24][A-Z]\w*(?:\.\w+)*"
)
"""A ticket, a version, a quarter, a machine, a format: `PR-1123`, `KeePassXC-2.7`, `Q3-2025`, `Server2`, `JSON5`."""
FILE_OR_HOST = (
    r".*(?:/.*|\.(?:md|py|js|ts|go|rs|rb|java|json|ya?ml|toml|txt|env|ini|cfg|conf|sh|sql|csv|log|xml|html?|kdbx|gpg"
    r"|com|org|net|io|dev|local|internal|example|test|de|fr|es|it|nl|pl|se))"
)
