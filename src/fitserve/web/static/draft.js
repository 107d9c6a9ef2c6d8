// What stands in the box. A reload keeps it, and also what has left the box and has not arrived at the server.
import { store } from "./store.js";
import { entries, putBack, takeOut } from "./tray_store.js";

const WRITTEN = "fitserve-draft";
const LEAVING = "fitserve-leaving";
let unloading = false; // then requests fail that may well have arrived: the next page will see
addEventListener("pagehide", () => (unloading = true));
addEventListener("pageshow", () => (unloading = false));

export function write(draft) {
  store.set({ draft });
  keep(WRITTEN, draft);
}

// The box is free for the next question, but for what was written since.
export function leave(text, pictures) {
  keep(LEAVING, JSON.stringify({ text, pictures: pictures.map(({ picture }) => picture) }));
  takeOut(pictures);
  if (store.state.draft === text) write("");
}

export const arrived = () => sessionStorage.removeItem(LEAVING);

export function comeBack(text, pictures) {
  if (unloading) return;
  arrived();
  putBack(pictures);
  write([text, store.state.draft].filter(Boolean).join("\n"));
}

export const restoreDraft = () => store.set({ draft: sessionStorage.getItem(WRITTEN) ?? "" });

// After a reload: `chat` is the one that is open by now. What its last question is has arrived.
export function restoreLeaving(chat) {
  const { text, pictures } = JSON.parse(sessionStorage.getItem(LEAVING) ?? "{}");
  if (!pictures) return;
  const last = chat?.turns.at(-1);
  const ids = (some) => some.map(({ id }) => id).join();
  if (last && (!text || last.question === text.trim()) && ids(last.pictures) === ids(pictures)) arrived();
  else comeBack(text, entries(pictures));
}

function keep(name, value) {
  try { sessionStorage.setItem(name, value); } catch { /* storage is full or closed: then a reload forgets it */ }
}
