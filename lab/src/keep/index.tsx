// Sharing: a link with the whole state, the scenario as a file, the command that does the same, a frame for other pages.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { fromBase64 } from "../state/bytes.ts";
import { checked, type Doc, doc } from "../state/document.ts";
import { LONGEST, toHash } from "../state/link.ts";
import { Button, copy, Dialog, download, Icon, Menu } from "../ui/index.tsx";
import { register, written } from "../ui/keys.ts";
import { say } from "../ui/notices.tsx";
import { command, commandWithText } from "./command.ts";

type Showing = "link" | "command" | "embed";
const showing = signal<Showing | null>(null);
const TITLES = { link: "A link to this state", command: "Run this on your machine", embed: "This in another page" };
/** Longer links are cut by some programs that send them. */
const LONG = 8000;

export function KeepMenu() {
  useEffect(
    () =>
      register(
        { part: "Scenario", keys: "s", says: "Copy a link to this state", run: shareLink },
        { part: "Scenario", keys: "mod+s", says: "Download the scenario", run: downloadScenario, inFields: true },
      ),
    [],
  );
  return (
    <>
      <Menu
        label="Share and keep"
        entries={
          <>
            <Button onClick={shareLink} keys={written("s")}>
              <Icon name="share" /> Copy a link to this state
            </Button>
            <Button onClick={downloadScenario} keys={written("mod+s")}>
              <Icon name="down" /> Download the scenario (TOML)
            </Button>
            <Button
              onClick={() => {
                showing.value = "command";
              }}
            >
              <Icon name="play" /> Run this on your machine …
            </Button>
            <Button
              onClick={() => {
                showing.value = "embed";
              }}
            >
              <Icon name="open" /> Put this into another page …
            </Button>
          </>
        }
      >
        <Icon name="share" />
        <span class="word">Share</span>
      </Menu>
      <Dialog
        title={showing.value ? TITLES[showing.value] : ""}
        open={showing.value !== null}
        onClose={() => {
          showing.value = null;
        }}
      >
        {showing.value === "link" && <LinkPart />}
        {showing.value === "command" && <CommandPart />}
        {showing.value === "embed" && <EmbedPart />}
      </Dialog>
    </>
  );
}

const here = () => location.origin + location.pathname;

async function shareLink(): Promise<void> {
  const link = `${here()}#${await toHash(doc.peek())}`;
  if (link.length > LONGEST) {
    say("This state is too large for a link, because of its files. Download the scenario instead.", { wrong: true });
    return;
  }
  if (!(await copy(link))) {
    showing.value = "link";
    return;
  }
  const long = link.length > LONG ? ` It has ${link.length} characters, and some programs cut links that long.` : "";
  say(`The link is in the clipboard. It holds the whole state, and no server has it.${long}`);
}

export function downloadScenario(): void {
  const { text, name, files } = doc.peek();
  download(name.replace(/^.*[\\/]/, "") || "scenario.toml", text, "application/toml");
  for (const [file, bytes] of Object.entries(files)) {
    const content = fromBase64(bytes);
    if (content) download(file.replace(/^.*[\\/]/, ""), content, "application/octet-stream");
  }
}

/** A text to copy. */
export function Copied({ text, label }: { text: string; label: string }) {
  const done = useSignal(false);
  const id = useId();
  return (
    <div class="copied">
      <textarea
        id={id}
        aria-label={label}
        readOnly
        rows={Math.min(12, text.split("\n").length)}
        value={text}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Button
        onClick={async () => {
          done.value = await copy(text);
          if (!done.value) document.getElementById(id)?.focus();
        }}
      >
        <Icon name={done.value ? "check" : "copy"} /> {done.value ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

/** The address of a state, once it is made. */
function useLink(of: Doc, query = ""): string | null {
  const link = useSignal<string | null>(null);
  useEffect(() => {
    let current = true;
    toHash(of).then((hash) => {
      if (current) link.value = `${here()}${query}#${hash}`;
    });
    return () => {
      current = false;
    };
  }, [of, query]);
  return link.value;
}

function LinkPart() {
  const link = useLink(doc.value);
  return link === null ? <p>…</p> : <Copied text={link} label="Link" />;
}

function CommandPart() {
  const files = Object.keys(doc.value.files);
  const points = checked.value?.points.length ?? 1;
  return (
    <>
      <p>
        The command runs the same simulator with the same seeds, and gives the same digests. Download the scenario, then
        run:
      </p>
      <Copied text={command(doc.value, checked.value)} label="Command" />
      {points > 1 && <p class="small soft">It runs all {points} points of the sweep. The page shows one of them.</p>}
      {files.length === 0 ? (
        <>
          <p>Or paste this into a shell. It contains the scenario:</p>
          <Copied text={commandWithText(doc.value, checked.value)} label="Command with the scenario in it" />
        </>
      ) : (
        <p>
          It reads {files.map((name) => `“${name}”`).join(", ")} from the scenario's folder. Put the downloaded files
          there.
        </p>
      )}
      <Button onClick={downloadScenario}>
        <Icon name="down" /> Download the scenario
      </Button>
      <p class="small soft">
        To get the command, run <code>pip install .</code> or <code>cargo install --locked --path crates/cli</code> in
        Quell's folder.
      </p>
    </>
  );
}

function EmbedPart() {
  const link = useLink(doc.value, "?embed=1");
  if (link === null) return <p>…</p>;
  const html = `<iframe src="${link.replaceAll("&", "&amp;")}" width="100%" height="520" loading="lazy" title="Quell lab"></iframe>`;
  return (
    <>
      <p>This HTML shows the results and the player in a frame. A height of 400 pixels is enough for one figure.</p>
      <Copied text={html} label="HTML of a frame" />
    </>
  );
}

/** In a frame: the way to the whole page with the same state. */
export function OpenInLab() {
  const link = useLink(doc.value);
  return (
    <a class="button" href={link ?? here()} target="_blank" rel="noopener">
      <Icon name="open" /> Open in the lab
    </a>
  );
}
