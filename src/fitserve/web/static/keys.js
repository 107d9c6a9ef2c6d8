// Keys that work everywhere. Letters go with Alt, so that nothing happens while somebody types.
import { clear, newChat, stop } from "./chats.js";
import { openHelp } from "./help.js";
import { narrow, store } from "./store.js";

const ALT = {
  KeyN: newChat,
  KeyC: clear,
  KeyH: () => store.set({ drawer: !store.state.drawer }),
  Slash: openHelp,
};

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    if (event.altKey && ALT[event.code]) {
      event.preventDefault();
      ALT[event.code]();
      if (event.code === "KeyN" || event.code === "KeyC") document.getElementById("question")?.focus();
    } else if (event.key === "Escape") escape();
  });
  addEventListener("pointerdown", (event) => closeMenus(event.target));
  addEventListener("focusin", (event) => closeMenus(event.target));
}

// What opens over the page closes when the reader turns to something else.
function closeMenus(target) {
  const open = [...document.querySelectorAll("details.over[open]")].filter((menu) => !menu.contains(target));
  for (const menu of open) menu.open = false;
  return open.length > 0;
}

function escape() {
  const { drawer, editing, chat } = store.state;
  if (document.querySelector("dialog[open]")) return; // it closes itself
  if (closeMenus(null)) return;
  if (drawer && narrow()) store.set({ drawer: false });
  else if (editing) store.set({ editing: null });
  else if (chat?.answering) stop();
}
