// A WACZ as Browsertrix writes it (src/util/recorder.ts, wacz.ts), by the library it uses, warcio.js 2.4: node browsertrix.mjs FOLDER
// The sample is that folder as a ZIP file without compression.
import { writeFileSync, mkdirSync } from "node:fs";
import { createHash } from "node:crypto";
import { WARCRecord, WARCSerializer, CDXIndexer, multiValueHeader } from "warcio";

const out = process.argv[2];
for (const part of ["archive", "pages", "indexes", "logs"]) mkdirSync(`${out}/${part}`, { recursive: true });
const encoder = new TextEncoder();
const PAGE = "6d9ed0f5-2a3d-4a3f-9a4e-2d6a3f8f5c11";
const date = "2025-03-01T10:00:00.123Z";
const warcVersion = "WARC/1.1";
const parts = [];
async function put(record, options = {}) {
  const serializer = new WARCSerializer(record, { gzip: true });
  if (options.payloadDigestForRevisit) await serializer.digestRecord(options);
  const chunks = [];
  for await (const chunk of serializer) chunks.push(chunk);
  parts.push(Buffer.concat(chunks));
}
async function pair(url, status, headers, body, { method = "GET", post = "", type = "document", when = date, revisit, more = {} } = {}) {
  const warcHeaders = { "WARC-Page-ID": PAGE, "WARC-Protocol": multiValueHeader("WARC-Protocol", ["h2", "tls/1.3"]), "WARC-Resource-Type": type,
    "WARC-JSON-Metadata": JSON.stringify({ ipType: "Public", cert: { issuer: "R3", ctc: "1" } }), ...more };
  let response = WARCRecord.create({ url, date: when, warcVersion, type: "response", warcHeaders, httpHeaders: headers, statusline: `HTTP/1.1 ${status}` }, [encoder.encode(body)]);
  if (revisit) {
    const digest = new WARCSerializer(response, { gzip: true });
    await digest.digestRecord();
    const record = WARCRecord.create({ url, date: when, warcVersion, type: "revisit", warcHeaders, refersToUrl: revisit.url, refersToDate: revisit.date });
    record.httpHeaders = response.httpHeaders;
    await put(record, { payloadDigestForRevisit: response.warcPayloadDigest });
    response = record;
  } else await put(response);
  const path = url.slice(new URL(url).origin.length);
  const sent = { "user-agent": "Mozilla/5.0 Chrome/133", accept: "*/*" };
  if (post) sent["content-type"] = "application/json";
  await put(WARCRecord.create({ url, date: when, warcVersion, type: "request", warcHeaders: { "WARC-Concurrent-To": response.warcHeader("WARC-Record-ID"), "WARC-Page-ID": PAGE, "WARC-Resource-Type": type },
    httpHeaders: sent, statusline: `${method} ${path} HTTP/1.1` }, post ? [encoder.encode(post)] : []));
}
async function resource(kind, type, body, when = date, url = "https://diario.test/") {
  await put(WARCRecord.create({ url: `urn:${kind}:${url}`, date: when, type: "resource", warcVersion, warcHeaders: { "Content-Type": type } }, [typeof body === "string" ? encoder.encode(body) : body]));
}
await put(await WARCRecord.createWARCInfo({ filename: "rec-0.warc.gz", type: "warcinfo", date, warcVersion }, { software: "Browsertrix-Crawler 1.5.8 (with warcio.js 2.4.4)", format: "WARC File Format 1.1" }));
const html = '<!doctype html><html lang="es"><title>Portada</title><link rel=stylesheet href=/e.css><h1>Portada</h1><p>Las mareas de hoy.</p><img src=/r.png><script src=/a.js></script>';
await pair("https://diario.test/", "200 OK", { "content-type": "text/html; charset=utf-8", "content-length": `${encoder.encode(html).length}`, "x-orig-content-encoding": "br" }, html);
await pair("https://diario.test/viejo", "301 Moved Permanently", { location: "https://diario.test/" }, "");
await pair("https://diario.test/e.css", "200 OK", { "content-type": "text/css" }, "h1 { color: red }", { type: "stylesheet" });
await pair("https://diario.test/copia.css", "200 OK", { "content-type": "text/css" }, "h1 { color: red }", { type: "stylesheet", when: "2025-03-01T10:00:02.000Z", revisit: { url: "https://diario.test/e.css", date } });
await pair("https://diario.test/api", "200 OK", { "content-type": "application/json" }, '{"mareas": 3}', { method: "POST", post: '{"query": "mareas", "dia": 1}', type: "fetch" });
await pair("https://diario.test/api", "200 OK", { "content-type": "application/json" }, '{"mareas": 7}', { method: "POST", post: '{"query": "mareas", "dia": 2}', type: "fetch" });
await pair("https://diario.test/put", "200 OK", { "content-type": "application/json" }, "{}", { method: "PUT", post: "{}", type: "fetch" });
await pair("https://diario.test/video", "206 Partial Content", { "content-type": "video/mp4", "content-range": "bytes 0-3/4000" }, "abcd", { type: "media", more: { "WARC-Truncated": "disconnect" } });
await pair("https://diario.test/otro", "200 OK", { "content-type": "text/html" }, "<p>de otra captura", { revisit: { url: "https://diario.test/fuera", date: "2024-01-01T00:00:00Z" }, more: { "WARC-Refers-To-Container": "file://other.wacz" } });
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
await pair("https://diario.test/r.png", "200 OK", { "content-type": "image/png" }, "png", { type: "image" });
await resource("view", "image/png", png);
await resource("thumbnail", "image/jpeg", png);
await resource("fullPage", "image/png", png);
await resource("text", "text/plain", "Portada\nLas mareas de hoy.");
await resource("text", "text/plain", "Portada\nLas mareas de hoy.\nfinal", "2025-03-01T10:00:09Z");
await resource("pageinfo", "application/json", JSON.stringify({ pageid: PAGE, urls: { "https://diario.test/": { status: 200, mime: "text/html", type: "document" } }, url: "https://diario.test/", ts: date, tsStatus: 200, counts: { jsErrors: 0 } }));
const warc = Buffer.concat(parts);
const write = (name, data) => { writeFileSync(`${out}/${name}`, data); return { name: name.split("/").pop().toLowerCase(), path: name, hash: "sha256:" + createHash("sha256").update(data).digest("hex"), bytes: Buffer.byteLength(data) }; };
const resources = [write("archive/rec-20250301100000123-0.warc.gz", warc),
  write("pages/pages.jsonl", JSON.stringify({ format: "json-pages-1.0", id: "pages", title: "Seed Pages", hasText: "false" }) + "\n" + JSON.stringify({ id: PAGE, url: "https://diario.test/", title: "Portada", loadState: 4, mime: "text/html", seedId: 0, status: 200, ts: date, seed: true, depth: 0 }) + "\n"),
  write("pages/extraPages.jsonl", JSON.stringify({ format: "json-pages-1.0", id: "extra-pages", title: "Non-Seed Pages", hasText: "false" }) + "\n"),
  write("logs/crawl-20250301.log", '{"timestamp":"2025-03-01T10:00:00Z","logLevel":"info","context":"general","message":"Crawl status","details":{}}\n')];
const pack = JSON.stringify({ resources, created: "2025-03-01T10:01:00Z", wacz_version: "1.1.1", software: "Browsertrix-Crawler 1.5.8 (with warcio.js 2.4.4)", title: "diario" }, null, 2);
write("datapackage.json", pack);
write("datapackage-digest.json", JSON.stringify({ path: "datapackage.json", hash: "sha256:" + createHash("sha256").update(pack).digest("hex"), signedData: { hash: "sha256:00", created: "2025-03-01T10:01:00Z", software: "authsigner 0.5.0", signature: "MEUC", domain: "signing.example", domainCert: "-----BEGIN CERTIFICATE-----", timeSignature: "MII", timestampCert: "-----BEGIN CERTIFICATE-----", version: "0.1.0" } }, null, 2));
