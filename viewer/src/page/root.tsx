// The page's own profile, or its comparison with a file that was dropped on the page or chosen.

import { useEffect, useRef, useState } from "preact/hooks";
import { dropped } from "../model/dropped";
import type { Model } from "../model/model";
import { FormatError } from "../model/protobuf";
import { twoFiles } from "../model/two_sided";
import { Page } from "./page";
import { capital } from "../words/words";

export function Root({ model, file }: { model: Model; file: Uint8Array<ArrayBuffer> }) {
  const [compared, setCompared] = useState<Model | null>(null);
  const [said, say] = useState("");
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const compare = async (other: File | undefined) => {
    if (!other) return;
    try {
      const { facts, profile } = model;
      const read = await dropped(new Uint8Array(await other.arrayBuffer()), other.name, { facts, profile });
      const own = { facts, profile, name: facts.title };
      // The file that was recorded first is the one before.
      const isLater = read.profile.startMs > profile.startMs;
      setCompared(isLater ? twoFiles(own, read) : twoFiles(read, own));
      say("");
      location.hash = "";
    } catch (error) {
      say(error instanceof FormatError ? `${capital(error.message)}.` : `${other.name} cannot be read: ${String(error)}`);
    }
  };
  useEffect(() => {
    if (model.isTwoSided) return;
    const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const handlers: Record<string, (event: DragEvent) => void> = {
      dragover: (event) => hasFile(event) && (event.preventDefault(), setOver(true)),
      dragleave: (event) => event.relatedTarget === null && setOver(false),
      drop: (event) => {
        if (!hasFile(event)) return;
        event.preventDefault();
        setOver(false);
        void compare(event.dataTransfer!.files[0]);
      },
    };
    for (const [name, handler] of Object.entries(handlers)) addEventListener(name, handler as EventListener);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) removeEventListener(name, handler as EventListener);
    };
  }, [model]);
  const above = (
    <>
      {compared && (
        <nav class="period-bar" aria-label="Comparison">
          <button class="opener" onClick={() => (setCompared(null), void (location.hash = ""))}>
            Back to {model.facts.title}
          </button>
        </nav>
      )}
      {said !== "" && (
        <p class="refused" role="alert">
          {said}
        </p>
      )}
      {over && <p class="drop-here">Drop a .pb.gz or a page here to compare it with this profile.</p>}
      <input ref={input} class="hidden" type="file" accept=".gz,.html" tabIndex={-1} aria-label="File to compare with" onChange={(event) => (void compare(event.currentTarget.files?.[0]), (event.currentTarget.value = ""))} />
    </>
  );
  const choose = model.isTwoSided ? {} : { compare: () => input.current?.click() };
  return <Page key={compared ? "compared" : "own"} model={compared ?? model} file={file} above={above} {...choose} />;
}
