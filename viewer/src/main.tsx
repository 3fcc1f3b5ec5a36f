// Reads the data in the page, and shows it.

import { render } from "preact";
import { load } from "./model/decode";
import type { Facts, IndexFacts, Source } from "./model/facts";
import { Model } from "./model/model";
import { FormatError } from "./model/protobuf";
import { twoSided } from "./model/two_sided";
import { Failure } from "./page/page";
import { Periods } from "./page/periods";
import { Root } from "./page/root";
import { capital } from "./words/words";

/** Returns the text of a block of data in the page; `null` if there is no such block. */
function textOf(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

function block(id: string): string {
  const text = textOf(id);
  if (text === null) throw new FormatError("this page has no profile in it");
  return text;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  let text: string;
  try {
    // Browsers from 2025 on have a native function for it.
    const native = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
    if (native) return native.call(Uint8Array, base64);
    text = atob(base64);
  } catch {
    throw new FormatError("the profile is damaged: it is not base64");
  }
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

function factsOf(text: string): Facts | IndexFacts {
  try {
    return JSON.parse(text) as Facts | IndexFacts;
  } catch {
    throw new FormatError("the facts beside the profile are damaged");
  }
}

function sourcesOf(text: string): Record<string, Source> {
  try {
    return JSON.parse(text) as Record<string, Source>;
  } catch {
    throw new FormatError("the sources beside the profile are damaged");
  }
}

async function start(app: HTMLElement): Promise<void> {
  try {
    const read = factsOf(block("facts"));
    if ("periods" in read) return render(<Periods index={read} block={(id) => bytesOf(block(id))} />, app);
    const editor = textOf("editor");
    const facts = { ...read, sources: sourcesOf(textOf("sources") ?? "{}"), ...(editor === null ? {} : { editor }) };
    const file = bytesOf(block("profile"));
    const others = (facts.comparison?.runs ?? []).slice(1).map((_, at) => bytesOf(block(`profile-${at + 1}`)));
    const model = facts.comparison ? await twoSided(facts, [file, ...others]) : new Model(await load(file), facts);
    render(<Root model={model} file={file} />, app);
  } catch (error) {
    const text = error instanceof FormatError ? `${capital(error.message)}.` : `This page failed: ${String(error)}`;
    render(<Failure text={text} />, app);
  }
}

document.querySelector(".blocked")?.remove();
void start(document.getElementById("app")!);
