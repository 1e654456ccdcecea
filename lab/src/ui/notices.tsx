// Short messages that come and go, said aloud by screen readers.

import { signal } from "@preact/signals";
import { Button, Icon } from "./index.tsx";

export interface Notice {
  id: number;
  text: string;
  /** What can be done about it. */
  action?: { says: string; run: () => void };
  /** Something went wrong; it stays until it is closed. */
  wrong?: boolean;
}

export const notices = signal<readonly Notice[]>([]);
let count = 0;

/** Says something for some seconds; what is wrong or can be acted on stays until it is closed. */
export function say(text: string, more: Pick<Notice, "action" | "wrong"> = {}): void {
  count += 1;
  const notice = { id: count, text, ...more };
  notices.value = [...notices.peek().filter((old) => old.text !== text), notice].slice(-4);
  if (!more.action && !more.wrong) setTimeout(() => close(notice.id), 5000 + 40 * text.length);
}

export function close(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, action, wrong }) => (
        <div key={id} class={wrong ? "notice wrong" : "notice"}>
          <p>{text}</p>
          {action && (
            <Button
              onClick={() => {
                close(id);
                action.run();
              }}
            >
              {action.says}
            </Button>
          )}
          <Button plain label="Close this message" onClick={() => close(id)}>
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  );
}
